#include "tinyrt_average_pool2d.h"

#include "tinyrt_pool_walk.h"

/** Halves away from zero. */
static int32_t mean(const tinyrt_area *area, const int8_t *x) {
    const int32_t count = area->rows * area->columns;
    const int32_t sum = tinyrt_sum_of_pairs(*area, x);
    return ((sum > 0) ? (sum + (count / 2)) : (sum - (count / 2))) / count;
}

void tinyrt_average_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *input,
                              int8_t *output) {
    TINYRT_POOL_WALK(
        p, input, output, int8_t, for (int32_t c = 0; c < p->y.c; ++c) {
            y[c] = (int8_t)tinyrt_clamp(mean(&area, x + c), p->act_min, p->act_max);
        });
}
