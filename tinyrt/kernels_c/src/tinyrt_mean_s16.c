#include "tinyrt_mean.h"

#include "tinyrt_fixedpoint.h"

static int32_t add(int32_t so_far, int32_t x) {
    return (int32_t)((uint32_t)so_far + (uint32_t)x);
}

void tinyrt_mean_s16(const tinyrt_mean_s8_params *p, const int16_t *x, int16_t *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t at = 0;
    do {
        const int32_t sum = tinyrt_fold_s16(&p->axes, add, 0, x + at);
        const int32_t mean = tinyrt_requant(sum, p->y_mult, p->y_shift);
        *y++ = (int16_t)tinyrt_clamp(mean, INT16_MIN, INT16_MAX);
    } while (tinyrt_next_kept(&p->axes, index, &at) != 0);
}
