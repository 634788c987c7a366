#include "tinyrt_max_pool2d.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_taps.h"

static int8_t largest(const int8_t *x, int32_t rows, int32_t columns, int32_t row_step,
                      int32_t step) {
    int8_t most = INT8_MIN;
    for (int32_t ky = 0; ky < rows; ++ky) {
        for (int32_t kx = 0; kx < columns; ++kx) {
            const int8_t value = x[ky * row_step + kx * step];
            most = value > most ? value : most;
        }
    }
    return most;
}

void tinyrt_max_pool2d_s8(const tinyrt_max_pool2d_s8_params *p, const int8_t *x,
                          int8_t *TINYRT_RESTRICT y) {
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
                for (int32_t c = 0; c < p->y.c; ++c) {
                    const int32_t most =
                        largest(first + c, ky.end - ky.begin, kx.end - kx.begin, row_step, p->x.c);
                    *y++ = (int8_t)tinyrt_clamp(most, p->act_min, p->act_max);
                }
            }
        }
        x += p->x.h * row_step;
    }
}
