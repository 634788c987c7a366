/** The walk over the windows of a pool. */
#ifndef TINYRT_POOL_WALK_H
#define TINYRT_POOL_WALK_H

#include "tinyrt_area.h"
#include "tinyrt_pool.h"

/** A window's elements inside the input; there is one at least. */
static inline tinyrt_area tinyrt_area_inside(tinyrt_range ky, tinyrt_range kx, int32_t row_step,
                                             int32_t column_step) {
    const tinyrt_area area = {ky.end - ky.begin, kx.end - kx.begin, row_step, column_step};
    TINYRT_ASSERT((area.rows > 0) && (area.columns > 0));
    return area;
}

/** Does what is given for every window: x is then its first element inside the input, area says
 *  which others are, and y is the place of its outputs. A macro: compilers then see one function,
 *  and keep in registers what they kept there when each pool had a walk of its own. */
#define TINYRT_POOL_WALK(p, input, output, type, window_of_pool)                                   \
    do {                                                                                           \
        const tinyrt_window *const window = &(p)->window;                                          \
        const int32_t row_step = (p)->x.w * (p)->x.c;                                              \
        const type *image = (input);                                                               \
        type *y = (output);                                                                        \
        for (int32_t n = 0; n < (p)->y.n; ++n, image += (p)->x.h * row_step) {                     \
            for (int32_t oy = 0; oy < (p)->y.h; ++oy) {                                            \
                const int32_t y0 = (oy * window->stride_h) - window->pad_top;                      \
                const tinyrt_range ky = tinyrt_taps_inside(y0, (p)->x.h, window->kernel_h, 1);     \
                for (int32_t ox = 0; ox < (p)->y.w; ++ox, y += (p)->y.c) {                         \
                    const int32_t x0 = (ox * window->stride_w) - window->pad_left;                 \
                    const tinyrt_range kx = tinyrt_taps_inside(x0, (p)->x.w, window->kernel_w, 1); \
                    const tinyrt_area area = tinyrt_area_inside(ky, kx, row_step, (p)->x.c);       \
                    const type *const x =                                                          \
                        image + ((y0 + ky.begin) * row_step) + ((x0 + kx.begin) * (p)->x.c);       \
                    window_of_pool;                                                                \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#endif
