/** Poolings for cores with MVE, window by window, where this is included: TINYRT_POOLED is the type
 * of the elements. */
#ifndef TINYRT_MVE_POOL_LOOP_H
#define TINYRT_MVE_POOL_LOOP_H

#include "tinyrt_mve.h"
#include "tinyrt_pool.h"

/** The taps of a window that lie inside the input, and how far apart they are. */
typedef struct {
    int32_t rows;
    int32_t columns;
    int32_t row_step;
    int32_t step;
} tinyrt_pooled_taps;

/** All channels under one window. */
typedef void (*tinyrt_pool_channels)(const tinyrt_pool2d_s8_params *p, tinyrt_pooled_taps taps,
                                     const TINYRT_POOLED *x, TINYRT_POOLED *y);

/** channels is a constant where this is called. */
static inline void tinyrt_mve_pool(const tinyrt_pool2d_s8_params *p, tinyrt_pool_channels channels,
                                   const TINYRT_POOLED *x, TINYRT_POOLED *y) {
    const tinyrt_window *window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * row_step) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = (oy * window->stride_h) - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox, y += p->y.c) {
                const int32_t x0 = (ox * window->stride_w) - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                const tinyrt_pooled_taps taps = {.rows = ky.end - ky.begin,
                                                 .columns = kx.end - kx.begin,
                                                 .row_step = row_step,
                                                 .step = p->x.c};
                TINYRT_ASSERT((taps.rows > 0) && (taps.columns > 0));
                channels(p, taps, x + ((y0 + ky.begin) * row_step) + ((x0 + kx.begin) * p->x.c), y);
            }
        }
    }
}

#endif
