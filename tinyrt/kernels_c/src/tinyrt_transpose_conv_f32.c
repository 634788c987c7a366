#include "tinyrt_transpose_conv.h"

#include "tinyrt_float.h"
#include "tinyrt_strides.h"

/** The sum over taps and input channels; x is the image, w the output channel's filter. */
static float accumulate(const tinyrt_transpose_conv_f32_params *p, tinyrt_strided_taps ky,
                        tinyrt_strided_taps kx, const float *x, const float *w) {
    const int32_t c_in = p->x.c;
    float sum = 0.0F;
    for (int32_t i = 0; i < ky.count; ++i) {
        const int32_t w_row = (ky.first + i * p->window.stride_h) * p->window.kernel_w;
        const int32_t x_row = (ky.x - i) * p->x.w;
        for (int32_t j = 0; j < kx.count; ++j) {
            const float *tap = w + (w_row + kx.first + j * p->window.stride_w) * c_in;
            const float *pixel = x + (x_row + kx.x - j) * c_in;
            for (int32_t c = 0; c < c_in; ++c) {
                sum = tinyrt_mlaf(sum, pixel[c], tap[c]);
            }
        }
    }
    return sum;
}

void tinyrt_transpose_conv_f32(const tinyrt_transpose_conv_f32_params *p, const float *x,
                               const float *w, const float *bias, float *y) {
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
                    const float sum = accumulate(p, ky, kx, x, w + oc * filter_size);
                    *y++ = tinyrt_clampf(sum + (bias != NULL ? bias[oc] : 0.0F), p->act_min,
                                         p->act_max);
                }
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
