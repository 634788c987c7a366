#include "tinyrt_max_pool2d.h"

#include "tinyrt_four_largest.h"

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

void tinyrt_max_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y) {
    const tinyrt_window *const window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * row_step) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = (oy * window->stride_h) - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox, y += p->y.c) {
                const int32_t x0 = (ox * window->stride_w) - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                TINYRT_ASSERT(ky.begin < ky.end && kx.begin < kx.end);
                const tinyrt_area area = {ky.end - ky.begin, kx.end - kx.begin, row_step, p->x.c};
                one_output(p, area, x + (y0 + ky.begin) * row_step + (x0 + kx.begin) * p->x.c, y);
            }
        }
    }
}
