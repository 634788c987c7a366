#include "tinyrt_mean.h"

#include "tinyrt_fixedpoint.h"

static int32_t add(int32_t so_far, int32_t x) {
    return so_far + x;
}

void tinyrt_mean_s8(const tinyrt_mean_s8_params *p, const int8_t *x, int8_t *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t at = 0;
    do {
        const int32_t sum = tinyrt_fold_s8(&p->axes, add, -p->count * p->x_zp, x + at);
        const int32_t mean = tinyrt_requant(sum, p->y_mult, p->y_shift);
        *y++ = tinyrt_to_s8(mean, p->y_zp, INT8_MIN, INT8_MAX);
    } while (tinyrt_next_kept(&p->axes, index, &at) != 0);
}
