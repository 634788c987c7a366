/** transpose_conv as the function TINYRT_KERNEL of TINYRT_PARAMS, over activations of TINYRT_X,
 *  weights of TINYRT_W, biases and sums of TINYRT_SUM, which are set where this is included.
 *  TINYRT_ADD_PRODUCT(p, sum, x, w) is a sum and one more product, TINYRT_FINISH(p, c, sum, bias)
 *  what becomes of the sum of output channel c and of its bias. */
#ifndef TINYRT_TRANSPOSE_CONV_LOOP_H
#define TINYRT_TRANSPOSE_CONV_LOOP_H

#include "tinyrt_strides.h"

/** The sum over taps and input channels; x is the image, w the output channel's filter. */
static TINYRT_SUM tinyrt_transpose_sum(const TINYRT_PARAMS *p, tinyrt_strided_taps ky,
                                       tinyrt_strided_taps kx, const TINYRT_X *x,
                                       const TINYRT_W *w) {
    const int32_t c_in = p->x.c;
    TINYRT_SUM sum = 0;
    for (int32_t i = 0; i < ky.count; ++i) {
        const int32_t w_row = (ky.first + (i * p->window.stride_h)) * p->window.kernel_w;
        const int32_t x_row = (ky.x - i) * p->x.w;
        for (int32_t j = 0; j < kx.count; ++j) {
            const TINYRT_W *tap = w + (w_row + kx.first + (j * p->window.stride_w)) * c_in;
            const TINYRT_X *pixel = x + (x_row + kx.x - j) * c_in;
            for (int32_t c = 0; c < c_in; ++c) {
                sum = TINYRT_ADD_PRODUCT(p, sum, pixel[c], tap[c]);
            }
        }
    }
    return sum;
}

void TINYRT_KERNEL(const TINYRT_PARAMS *p, const TINYRT_X *x, const TINYRT_W *w,
                   const TINYRT_SUM *bias, TINYRT_X *y) {
    const tinyrt_window *window = &p->window;
    const int32_t filter_size = window->kernel_h * window->kernel_w * p->x.c;
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const tinyrt_strided_taps ky =
                tinyrt_taps_at(oy + window->pad_top, p->x.h, window->kernel_h, window->stride_h);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const tinyrt_strided_taps kx = tinyrt_taps_at(ox + window->pad_left, p->x.w,
                                                              window->kernel_w, window->stride_w);
                for (int32_t oc = 0; oc < p->y.c; ++oc) {
                    const TINYRT_SUM sum =
                        tinyrt_transpose_sum(p, ky, kx, x, w + (oc * filter_size));
                    *y++ = TINYRT_FINISH(p, oc, sum, (bias != NULL) ? bias[oc] : 0);
                }
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}

#endif
