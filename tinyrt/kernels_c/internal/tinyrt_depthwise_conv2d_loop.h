/** depthwise_conv2d as the function TINYRT_KERNEL of TINYRT_PARAMS, over activations of TINYRT_X,
 *  weights of TINYRT_W, biases and sums of TINYRT_SUM, which are set where this is included, as is
 *  the type of the pointer to y, TINYRT_Y.
 *  The sum of output channel c begins with TINYRT_FIRST(bias, c); TINYRT_ADD_PRODUCT(p, sum, x, w)
 *  is a sum and one more product; TINYRT_FINISH(p, c, sum, bias) is what becomes of a sum. */
#ifndef TINYRT_DEPTHWISE_CONV2D_LOOP_H
#define TINYRT_DEPTHWISE_CONV2D_LOOP_H

#include "tinyrt_taps.h"

/** What the bias adds to channel c. */
#define TINYRT_BIAS_OF(bias, c) ((bias) != NULL ? (bias)[c] : 0)

/** The sum over taps of one channel; x and w point at its first tap inside the input. */
static inline TINYRT_SUM tinyrt_depthwise_sum(const TINYRT_PARAMS *p, const TINYRT_X *x,
                                              const TINYRT_W *w, int32_t rows, int32_t columns,
                                              TINYRT_SUM sum) {
    const int32_t x_row_step = p->window.dilation_h * p->x.w * p->x.c;
    const int32_t x_step = p->window.dilation_w * p->x.c;
    const int32_t w_row_step = p->window.kernel_w * p->y.c;
    const int32_t w_step = p->y.c;
    for (int32_t ky = 0; ky < rows; ++ky) {
        const TINYRT_X *x_tap = x;
        const TINYRT_W *w_tap = w;
        for (int32_t kx = 0; kx < columns; ++kx) {
            sum = TINYRT_ADD_PRODUCT(p, sum, *x_tap, *w_tap);
            x_tap += x_step;
            w_tap += w_step;
        }
        x += x_row_step;
        w += w_row_step;
    }
    return sum;
}

/** All channels of the output at (oy, ox) of an image. */
static void tinyrt_depthwise_channels(const TINYRT_PARAMS *p, int32_t oy, int32_t ox,
                                      const TINYRT_X *x, const TINYRT_W *w, const TINYRT_SUM *bias,
                                      TINYRT_Y y) {
    const tinyrt_window *window = &p->window;
    const int32_t multiplier = p->y.c / p->x.c;
    const int32_t y0 = (oy * window->stride_h) - window->pad_top;
    const int32_t x0 = (ox * window->stride_w) - window->pad_left;
    const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, window->dilation_h);
    const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, window->dilation_w);
    const int32_t row = y0 + (ky.begin * window->dilation_h);
    const int32_t column = x0 + (kx.begin * window->dilation_w);
    x += ((row * p->x.w) + column) * p->x.c;
    w += ((ky.begin * window->kernel_w) + kx.begin) * p->y.c;

    int32_t oc = 0;
    for (int32_t ic = 0; ic < p->x.c; ++ic) {
        for (int32_t m = 0; m < multiplier; ++m, ++oc) {
            const TINYRT_SUM sum = tinyrt_depthwise_sum(p, x + ic, w + oc, ky.end - ky.begin,
                                                        kx.end - kx.begin, TINYRT_FIRST(bias, oc));
            y[oc] = TINYRT_FINISH(p, oc, sum, bias);
        }
    }
}

void TINYRT_KERNEL(const TINYRT_PARAMS *p, const TINYRT_X *x, const TINYRT_W *w,
                   const TINYRT_SUM *bias, TINYRT_Y y) {
    TINYRT_ASSERT(p->y.c % p->x.c == 0);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                tinyrt_depthwise_channels(p, oy, ox, x, w, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}

#endif
