#include "tinyrt_reduce_prod.h"

#include "tinyrt_fixedpoint.h"

void tinyrt_reduce_prod_s16(const tinyrt_reduce_prod_params *p, const int16_t *x,
                            int16_t *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t at = 0;
    do {
        *y++ = (int16_t)tinyrt_clamp(tinyrt_product_of_s16(p, x + at), INT16_MIN, INT16_MAX);
    } while (tinyrt_next_kept(&p->axes, index, &at) != 0);
}
