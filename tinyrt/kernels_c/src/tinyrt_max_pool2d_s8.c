#include "tinyrt_max_pool2d.h"

#include "tinyrt_four_largest.h"
#include "tinyrt_pool_walk.h"

static int32_t largest(tinyrt_area area, const int8_t *x) {
    int32_t most = *x;
    for (; area.rows > 0; --area.rows, x += area.row_step) {
        for (int32_t i = 0; i < area.columns; ++i) {
            const int8_t value = x[i * area.column_step];
            most = (value > most) ? value : most;
        }
    }
    return most;
}

/** All channels of one output, four at a time. */
static void one_output(const tinyrt_pool2d_s8_params *p, tinyrt_area area, const int8_t *x,
                       int8_t *y) {
    const tinyrt_four_limit low = tinyrt_four_limit_of(p->act_min);
    const tinyrt_four_limit high = tinyrt_four_limit_of(p->act_max);
    int32_t c = 0;
    for (; (c + 4) <= p->y.c; c += 4) {
        tinyrt_four_largest(area, low, high, x + c, y + c);
    }
    for (; c < p->y.c; ++c) {
        y[c] = (int8_t)tinyrt_clamp(largest(area, x + c), p->act_min, p->act_max);
    }
}

void tinyrt_max_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *input, int8_t *output) {
    TINYRT_POOL_WALK(p, input, output, int8_t, one_output(p, area, x, y));
}
