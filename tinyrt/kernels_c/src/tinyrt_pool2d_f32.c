#include "tinyrt_pool_f32.h"

#include "tinyrt_taps.h"

/** One channel; x is its first element under the window. */
static float folded(const tinyrt_pool2d_f32_params *p, tinyrt_function2 f, const float *x,
                    int32_t rows, int32_t columns) {
    const int32_t row_step = p->x.w * p->x.c;
    float so_far = p->start;
    for (int32_t ky = 0; ky < rows; ++ky) {
        for (int32_t kx = 0; kx < columns; ++kx) {
            so_far = f(so_far, x[(ky * row_step) + (kx * p->x.c)]);
        }
    }
    return (p->average != 0) ? so_far / (float)(rows * columns) : so_far;
}

void tinyrt_pool2d_f32(const tinyrt_pool2d_f32_params *p, tinyrt_function2 f, const float *x,
                       float *y) {
    const tinyrt_window *window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = (oy * window->stride_h) - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const int32_t x0 = (ox * window->stride_w) - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                const float *first = x + (y0 + ky.begin) * row_step + (x0 + kx.begin) * p->x.c;
                for (int32_t c = 0; c < p->y.c; ++c) {
                    const float value =
                        folded(p, f, first + c, ky.end - ky.begin, kx.end - kx.begin);
                    *y++ = tinyrt_clampf(value, p->act_min, p->act_max);
                }
            }
        }
        x += p->x.h * row_step;
    }
}
