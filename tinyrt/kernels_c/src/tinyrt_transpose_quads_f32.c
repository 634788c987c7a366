#include "tinyrt_transpose_conv.h"

#include "tinyrt_float_start.h"
#include "tinyrt_float_tile.h"
#include "tinyrt_strides.h"

/** Outputs a stride apart that read the same columns of the window: a tile's, or one. */
static int32_t pixels_alike(const tinyrt_transpose_conv_f32_params *p, tinyrt_strided_taps kx,
                            int32_t ox) {
    const tinyrt_window *window = &p->window;
    const int32_t all = ((window->kernel_w - 1) - kx.first) / window->stride_w;
    const int are_inside = (kx.x >= all) && ((kx.x + 3) < p->x.w);
    return ((are_inside != 0) && ((ox + (3 * window->stride_w)) < p->y.w)) ? 4 : 1;
}

/** Four channels of outputs; x is the image. */
static TINYRT_TILE_CALLER void four_filters(const tinyrt_transpose_conv_f32_params *p,
                                            const tinyrt_strided_taps *ky,
                                            const tinyrt_strided_taps *kx, int32_t pixels,
                                            const float *x, const float *w, const float *bias,
                                            float *y) {
    const int32_t c_in = p->x.c;
    const int32_t w_step = 4 * p->window.stride_w * c_in;
    float sum[16];
    tinyrt_quads_start(bias, pixels, sum);
    for (int32_t i = 0; i < ky->count; ++i) {
        const int32_t tap = (ky->first + (i * p->window.stride_h)) * p->window.kernel_w;
        const float *weights = w + (4 * (tap + kx->first) * c_in);
        const float *from = x + ((((ky->x - i) * p->x.w) + kx->x) * c_in);
        for (int32_t j = kx->count; j > 0; --j, from -= c_in, weights += w_step) {
            if (pixels == 1) {
                tinyrt_quad_run(from, weights, c_in, sum);
            } else {
                tinyrt_tile_run(from, c_in, weights, c_in, sum);
            }
        }
    }
    tinyrt_quads_finish(sum, pixels, p->act_min, p->act_max, y, p->window.stride_w * p->y.c);
}

/** One channel of outputs: a weight meets an element of each. */
static TINYRT_NOINLINE void one_filter(const tinyrt_transpose_conv_f32_params *p,
                                       const tinyrt_strided_taps *ky, const tinyrt_strided_taps *kx,
                                       int32_t pixels, const float *x, const float *w, float bias,
                                       float *y) {
    const int32_t c_in = p->x.c;
    float sum[4] = {bias, bias, bias, bias};
    for (int32_t i = 0; i < ky->count; ++i) {
        const int32_t tap = (ky->first + (i * p->window.stride_h)) * p->window.kernel_w;
        const float *weights = w + ((tap + kx->first) * c_in);
        const float *from = x + ((((ky->x - i) * p->x.w) + kx->x) * c_in);
        for (int32_t j = kx->count; j > 0; --j, from -= c_in) {
            if (pixels == 1) {
                sum[0] = tinyrt_single_run(from, weights, c_in, sum[0]);
            } else {
                tinyrt_quad_apart(weights, from, c_in, c_in, sum);
            }
            weights += p->window.stride_w * c_in;
        }
    }
    for (int32_t pixel = 0; pixel < pixels; ++pixel, y += p->window.stride_w * p->y.c) {
        *y = tinyrt_clampf(sum[pixel], p->act_min, p->act_max);
    }
}

/** All channels of outputs a stride apart. */
static TINYRT_NOINLINE void all_channels(const tinyrt_transpose_conv_f32_params *p,
                                         const tinyrt_strided_taps *ky,
                                         const tinyrt_strided_taps *kx, int32_t pixels,
                                         const float *x, const float *w, const float *bias,
                                         float *y) {
    const int32_t filter_size = p->window.kernel_h * p->window.kernel_w * p->x.c;
    int32_t oc = 0;
    for (; (oc + 4) <= p->y.c; oc += 4, w += 4 * filter_size) {
        four_filters(p, ky, kx, pixels, x, w, (bias != NULL) ? (bias + oc) : NULL, y + oc);
    }
    for (; oc < p->y.c; ++oc, w += filter_size) {
        one_filter(p, ky, kx, pixels, x, w, (bias != NULL) ? bias[oc] : 0.0F, y + oc);
    }
}

/** A row of outputs; those a stride apart read the same taps. */
static void one_row(const tinyrt_transpose_conv_f32_params *p, const tinyrt_strided_taps *ky,
                    const float *x, const float *w, const float *bias, float *y) {
    const tinyrt_window *window = &p->window;
    for (int32_t first = 0; (first < window->stride_w) && (first < p->y.w); ++first) {
        int32_t pixels = 0;
        for (int32_t ox = first; ox < p->y.w; ox += pixels * window->stride_w) {
            const tinyrt_strided_taps kx =
                tinyrt_taps_at(ox + window->pad_left, p->x.w, window->kernel_w, window->stride_w);
            pixels = pixels_alike(p, kx, ox);
            all_channels(p, ky, &kx, pixels, x, w, bias, y + (ox * p->y.c));
        }
    }
}

void tinyrt_transpose_quads_f32(const tinyrt_transpose_conv_f32_params *p, const float *x,
                                const float *w, const float *bias, float *y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const tinyrt_strided_taps ky = tinyrt_taps_at(oy + p->window.pad_top, p->x.h,
                                                          p->window.kernel_h, p->window.stride_h);
            one_row(p, &ky, x, w, bias, y);
            y += p->y.w * p->y.c;
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
