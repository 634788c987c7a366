#include "tinyrt_average_pool2d.h"

#include "tinyrt_tile.h"

/** The elements under one window, of some channels. */
typedef struct {
    const int8_t *x;
    int32_t rows;
    int32_t columns;
    int32_t row_step;
    int32_t column_step;
} under_window;

TINYRT_INLINE tinyrt_lanes load(const int8_t *x, int32_t channels) {
    if (channels >= TINYRT_LANES) {
        return tinyrt_widen_lanes(x);
    }
    int8_t some[TINYRT_LANES] = {0};
    memcpy(some, x, (size_t)channels);
    return tinyrt_widen_lanes(some);
}

static void average(const under_window *under, int32_t channels, const tinyrt_pool2d_s8_params *p,
                    int8_t *y) {
    const int32_t count = under->rows * under->columns;
    tinyrt_lanes sums = tinyrt_set_lanes(0);
    for (int32_t i = 0; i < under->rows; ++i) {
        const int8_t *x = under->x + i * under->row_step;
        for (int32_t j = 0; j < under->columns; ++j, x += under->column_step) {
            sums = tinyrt_add_lanes(sums, load(x, channels));
        }
    }
    int32_t sum[TINYRT_LANES];
    memcpy(sum, &sums, sizeof sum);
    for (int32_t c = 0; c < channels && c < TINYRT_LANES; ++c) {
        const int32_t half = sum[c] > 0 ? count / 2 : -(count / 2);
        y[c] = (int8_t)tinyrt_clamp((sum[c] + half) / count, p->act_min, p->act_max);
    }
}

void tinyrt_average_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = oy * window->stride_h - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const int32_t x0 = ox * window->stride_w - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                const under_window under = {
                    .x = x + (y0 + ky.begin) * row_step + (x0 + kx.begin) * p->x.c,
                    .rows = ky.end - ky.begin,
                    .columns = kx.end - kx.begin,
                    .row_step = row_step,
                    .column_step = p->x.c,
                };
                for (int32_t c = 0; c < p->y.c; c += TINYRT_LANES) {
                    under_window vector = under;
                    vector.x += c;
                    average(&vector, p->y.c - c, p, y + c);
                }
                y += p->y.c;
            }
        }
        x += p->x.h * row_step;
    }
}
