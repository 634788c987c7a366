#include "tinyrt_depthwise_wide.h"

#include "tinyrt_quad16.h"
#include "tinyrt_taps.h"

/** All channels of a pixel; x and w point at the first tap inside the input. */
static void all_quads(const tinyrt_depthwise_conv2d_s16_params *p, const tinyrt_window_taps *taps,
                      const int16_t *x, const int8_t *w, const int64_t *bias,
                      int16_t *TINYRT_RESTRICT y) {
    const tinyrt_requant_s16_params requant = p->requant;
    for (int32_t c = 0; c < p->y.c; c += 4) {
        int32_t sum[4];
        tinyrt_quad16(taps, x + c, w + c, sum);
        for (int32_t i = 0; i < 4; ++i) {
            const int64_t first = (bias != NULL) ? bias[c + i] : 0;
            y[c + i] = tinyrt_requant_s16(&requant, c + i, first + sum[i]);
        }
    }
}

void tinyrt_depthwise_quads_s16(const tinyrt_depthwise_conv2d_s16_params *p, const int16_t *x,
                                const int8_t *w, const int64_t *bias, int16_t *TINYRT_RESTRICT y) {
    const tinyrt_window *const window = &p->window;
    const int32_t row = p->x.w * p->x.c;
    tinyrt_window_taps taps;
    taps.x_row = window->dilation_h * row;
    taps.x_step = window->dilation_w * p->x.c;
    taps.w_row = window->kernel_w * p->y.c;
    taps.w_step = p->y.c;
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * row) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = (oy * window->stride_h) - window->pad_top;
            const tinyrt_range ky =
                tinyrt_taps_inside(y0, p->x.h, window->kernel_h, window->dilation_h);
            const int16_t *const x_rows = x + ((y0 + (ky.begin * window->dilation_h)) * row);
            const int8_t *const w_rows = w + (ky.begin * taps.w_row);
            taps.rows = ky.end - ky.begin;
            for (int32_t ox = 0; ox < p->y.w; ++ox, y += p->y.c) {
                const int32_t x0 = (ox * window->stride_w) - window->pad_left;
                const tinyrt_range kx =
                    tinyrt_taps_inside(x0, p->x.w, window->kernel_w, window->dilation_w);
                const int32_t first = (x0 + (kx.begin * window->dilation_w)) * p->x.c;
                taps.columns = kx.end - kx.begin;
                all_quads(p, &taps, x_rows + first, w_rows + (kx.begin * taps.w_step), bias, y);
            }
        }
    }
}
