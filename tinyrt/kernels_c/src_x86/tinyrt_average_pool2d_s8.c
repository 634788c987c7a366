#include "tinyrt_average_pool2d.h"

#include "tinyrt_pool_walk.h"
#include "tinyrt_tile.h"

TINYRT_INLINE tinyrt_lanes load(const int8_t *x, int32_t channels) {
    if (channels >= TINYRT_LANES) {
        return tinyrt_widen_lanes(x);
    }
    int8_t some[TINYRT_LANES] = {0};
    memcpy(some, x, (size_t)channels);
    return tinyrt_widen_lanes(some);
}

static void average(const tinyrt_pool2d_s8_params *p, const tinyrt_area *area, const int8_t *x,
                    int32_t channels, int8_t *y) {
    const int32_t count = area->rows * area->columns;
    tinyrt_lanes sums = tinyrt_set_lanes(0);
    for (int32_t row = 0; row < area->rows; ++row) {
        const int8_t *tap = x + (row * area->row_step);
        for (int32_t left = area->columns; left > 0; --left, tap += area->column_step) {
            sums = tinyrt_add_lanes(sums, load(tap, channels));
        }
    }
    int32_t sum[TINYRT_LANES];
    memcpy(sum, &sums, sizeof sum);
    for (int32_t c = 0; c < channels && c < TINYRT_LANES; ++c) {
        const int32_t half = sum[c] > 0 ? count / 2 : -(count / 2);
        y[c] = (int8_t)tinyrt_clamp((sum[c] + half) / count, p->act_min, p->act_max);
    }
}

void tinyrt_average_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *input,
                              int8_t *output) {
    TINYRT_POOL_WALK(
        p, input, output, int8_t, for (int32_t c = 0; c < p->y.c; c += TINYRT_LANES) {
            average(p, &area, x + c, p->y.c - c, y + c);
        });
}
