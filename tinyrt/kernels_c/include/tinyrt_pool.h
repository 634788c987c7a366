/** What the poolings share. */
#ifndef TINYRT_POOL_H
#define TINYRT_POOL_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_taps.h"

/** Requires: every window has a tap inside the input; dilation 1. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t act_min;
    int32_t act_max;
} tinyrt_pool2d_s8_params;

/** One value for the elements of one channel under the window. */
typedef int32_t (*tinyrt_reduce)(const int8_t *x, int32_t rows, int32_t columns, int32_t row_step,
                                 int32_t column_step);

/** y = clamp(reduce(x)), over the taps inside the input. */
static inline void tinyrt_pool2d(const tinyrt_pool2d_s8_params *p, tinyrt_reduce reduce,
                                 const int8_t *x, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = oy * window->stride_h - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const int32_t x0 = ox * window->stride_w - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                const int8_t *first = x + (y0 + ky.begin) * row_step + (x0 + kx.begin) * p->x.c;
                TINYRT_ASSERT(ky.begin < ky.end && kx.begin < kx.end);
                for (int32_t c = 0; c < p->y.c; ++c) {
                    const int32_t value =
                        reduce(first + c, ky.end - ky.begin, kx.end - kx.begin, row_step, p->x.c);
                    *y++ = (int8_t)tinyrt_clamp(value, p->act_min, p->act_max);
                }
            }
        }
        x += p->x.h * row_step;
    }
}

#endif
