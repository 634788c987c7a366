/** The walk over the windows of a depthwise convolution of int16. */
#ifndef TINYRT_DEPTHWISE_WIDE_WALK_H
#define TINYRT_DEPTHWISE_WIDE_WALK_H

#include "tinyrt_depthwise_wide.h"
#include "tinyrt_taps.h"
#include "tinyrt_window_taps.h"

/** Does what is given for every pixel, and moves input on: x and w then point at the pixel's first
 *  tap inside the input, and taps says which others are. A macro, as TINYRT_POOL_WALK is. */
#define TINYRT_DEPTHWISE_WIDE_WALK(p, input, weights, pixel)                                       \
    do {                                                                                           \
        const tinyrt_window *const window = &(p)->window;                                          \
        const int32_t row = (p)->x.w * (p)->x.c;                                                   \
        tinyrt_window_taps taps;                                                                   \
        taps.x_row = window->dilation_h * row;                                                     \
        taps.x_step = window->dilation_w * (p)->x.c;                                               \
        taps.w_row = window->kernel_w * (p)->y.c;                                                  \
        taps.w_step = (p)->y.c;                                                                    \
        for (int32_t n = 0; n < (p)->y.n; ++n, (input) += (p)->x.h * row) {                        \
            for (int32_t oy = 0; oy < (p)->y.h; ++oy) {                                            \
                const int32_t y0 = (oy * window->stride_h) - window->pad_top;                      \
                const tinyrt_range ky =                                                            \
                    tinyrt_taps_inside(y0, (p)->x.h, window->kernel_h, window->dilation_h);        \
                const int16_t *const x_rows =                                                      \
                    (input) + ((y0 + (ky.begin * window->dilation_h)) * row);                      \
                const int8_t *const w_rows = (weights) + (ky.begin * taps.w_row);                  \
                taps.rows = ky.end - ky.begin;                                                     \
                for (int32_t ox = 0; ox < (p)->y.w; ++ox) {                                        \
                    const int32_t x0 = (ox * window->stride_w) - window->pad_left;                 \
                    const tinyrt_range kx =                                                        \
                        tinyrt_taps_inside(x0, (p)->x.w, window->kernel_w, window->dilation_w);    \
                    const int32_t first = (x0 + (kx.begin * window->dilation_w)) * (p)->x.c;       \
                    taps.columns = kx.end - kx.begin;                                              \
                    const int16_t *x = x_rows + first;                                             \
                    const int8_t *w = w_rows + (kx.begin * taps.w_step);                           \
                    pixel;                                                                         \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#endif
