#include "tinyrt_depthwise_wide.h"

#include "tinyrt_taps.h"

/** One channel; x and w are its first tap inside the input. */
static int64_t accumulate(const tinyrt_depthwise_conv2d_s16_params *p, const int16_t *x,
                          const int8_t *w, int32_t rows, int32_t columns, int64_t sum) {
    const int32_t x_row_step = p->window.dilation_h * p->x.w * p->x.c;
    const int32_t x_step = p->window.dilation_w * p->x.c;
    const int32_t w_row_step = p->window.kernel_w * p->y.c;
    const int32_t w_step = p->y.c;
    for (int32_t ky = 0; ky < rows; ++ky) {
        const int16_t *x_tap = x;
        const int8_t *w_tap = w;
        for (int32_t kx = 0; kx < columns; ++kx) {
            sum += *x_tap * *w_tap;
            x_tap += x_step;
            w_tap += w_step;
        }
        x += x_row_step;
        w += w_row_step;
    }
    return sum;
}

static void all_channels(const tinyrt_depthwise_conv2d_s16_params *p, int32_t oy, int32_t ox,
                         const int16_t *x, const int8_t *w, const int64_t *bias,
                         int16_t *TINYRT_RESTRICT y) {
    const tinyrt_window *window = &p->window;
    const int32_t multiplier = p->y.c / p->x.c;
    const int32_t y0 = oy * window->stride_h - window->pad_top;
    const int32_t x0 = ox * window->stride_w - window->pad_left;
    const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, window->dilation_h);
    const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, window->dilation_w);
    const int32_t row = y0 + ky.begin * window->dilation_h;
    const int32_t column = x0 + kx.begin * window->dilation_w;
    x += (row * p->x.w + column) * p->x.c;
    w += (ky.begin * window->kernel_w + kx.begin) * p->y.c;

    int32_t oc = 0;
    for (int32_t ic = 0; ic < p->x.c; ++ic) {
        for (int32_t m = 0; m < multiplier; ++m, ++oc) {
            const int64_t sum = accumulate(p, x + ic, w + oc, ky.end - ky.begin, kx.end - kx.begin,
                                           bias != NULL ? bias[oc] : 0);
            y[oc] = tinyrt_requant_s16(&p->requant, oc, sum);
        }
    }
}

void tinyrt_depthwise_conv2d_s16(const tinyrt_depthwise_conv2d_s16_params *p, const int16_t *x,
                                 const int8_t *w, const int64_t *bias, int16_t *TINYRT_RESTRICT y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                all_channels(p, oy, ox, x, w, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
