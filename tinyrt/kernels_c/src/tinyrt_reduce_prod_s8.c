#include "tinyrt_reduce_prod.h"

#include "tinyrt_fixedpoint.h"

void tinyrt_reduce_prod_s8(const tinyrt_reduce_prod_params *p, const int8_t *x,
                           int8_t *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t at = 0;
    do {
        *y++ = tinyrt_to_s8(tinyrt_product_of_s8(p, x + at), p->y_zp, INT8_MIN, INT8_MAX);
    } while (tinyrt_next_kept(&p->axes, index, &at) != 0);
}
