/** conv2d of floats by tiles, as the function TINYRT_KERNEL, which is set where this is included.
 */
#ifndef TINYRT_CONV2D_FLOAT_LOOP_H
#define TINYRT_CONV2D_FLOAT_LOOP_H

#include "tinyrt_float_start.h"
#include "tinyrt_float_tile.h"
#include "tinyrt_one_filter.h"

/** Pixels side by side from ox on that read the same columns of the window: a tile's, or one at
 *  the sides. A part of a layer may have fewer outputs than windows that lie inside. */
static int32_t tinyrt_pixels_alike(const tinyrt_conv2d_f32_params *p, int32_t ox) {
    const tinyrt_window *window = &p->window;
    const int32_t first = (ox * window->stride_w) - window->pad_left;
    const int32_t reach = (3 * window->stride_w) + ((window->kernel_w - 1) * window->dilation_w);
    const int are_inside = (first >= 0) && (first + reach < p->x.w);
    return ((are_inside != 0) && ((ox + 4) <= p->y.w)) ? 4 : 1;
}

/** Four channels of pixels side by side; x points at the first tap of the first pixel. */
static TINYRT_TILE_CALLER void tinyrt_four_filters(const tinyrt_conv2d_f32_params *p,
                                                   const tinyrt_footprint *f, int32_t pixels,
                                                   const float *x, const float *w,
                                                   const float *bias, float *y) {
    const int32_t x_step = p->window.stride_w * p->x.c;
    float sum[16];
    tinyrt_quads_start(bias, pixels, sum);
    w += 4 * f->w_start;
    for (int32_t row = 0; row < f->rows; ++row, x += f->x_row_step, w += 4 * f->w_row_step) {
        const float *from = x;
        const float *weights = w;
        for (int32_t run = 0; run < f->runs; ++run) {
            if (pixels == 1) {
                tinyrt_quad_run(from, weights, f->run_length, sum);
            } else {
                tinyrt_tile_run(from, x_step, weights, f->run_length, sum);
            }
            from += f->x_run_step;
            weights += 4 * f->w_run_step;
        }
    }
    tinyrt_quads_finish(sum, pixels, p->act_min, p->act_max, y, p->y.c);
}

/** One channel of four pixels side by side: each weight meets four elements. */
static void tinyrt_four_pixels(const tinyrt_conv2d_f32_params *p, const tinyrt_footprint *f,
                               const float *x, const float *w, float bias, float *y) {
    const int32_t x_step = p->window.stride_w * p->x.c;
    float sum[4] = {bias, bias, bias, bias};
    w += f->w_start;
    for (int32_t row = 0; row < f->rows; ++row, x += f->x_row_step, w += f->w_row_step) {
        for (int32_t run = 0; run < f->runs; ++run) {
            tinyrt_quad_apart(w + (run * f->w_run_step), x + (run * f->x_run_step), x_step,
                              f->run_length, sum);
        }
    }
    for (int32_t pixel = 0; pixel < 4; ++pixel, y += p->y.c) {
        *y = tinyrt_clampf(sum[pixel], p->act_min, p->act_max);
    }
}

/** The last channels of a group, of which there are fewer than four. */
static TINYRT_NOINLINE void tinyrt_left_filters(const tinyrt_conv2d_f32_params *p,
                                                const tinyrt_footprint *f, int32_t pixels,
                                                int32_t left, const float *x, const float *w,
                                                const float *bias, float *y) {
    const int32_t filter_size = p->window.kernel_h * p->window.kernel_w * (p->x.c / p->groups);
    for (int32_t i = 0; i < left; ++i, w += filter_size) {
        const float start = (bias != NULL) ? bias[i] : 0.0F;
        if (pixels == 1) {
            y[i] = tinyrt_one_filter(p, f, x, w, start);
        } else {
            tinyrt_four_pixels(p, f, x, w, start, y + i);
        }
    }
}

/** All channels of pixels side by side; x points at the image, y at the first pixel. */
static TINYRT_NOINLINE void tinyrt_tile_channels(const tinyrt_conv2d_f32_params *p,
                                                 const tinyrt_footprint *f, int32_t pixels,
                                                 const float *x, const float *w, const float *bias,
                                                 float *y) {
    const int32_t c_in = p->x.c / p->groups;
    const int32_t c_out = p->y.c / p->groups;
    const int32_t filter_size = p->window.kernel_h * p->window.kernel_w * c_in;
    int32_t oc = 0;
    x += f->x_start;
    for (int32_t group = 0; group < p->groups; ++group, x += c_in) {
        int32_t left = c_out;
        for (; left >= 4; left -= 4, oc += 4, w += 4 * filter_size) {
            tinyrt_four_filters(p, f, pixels, x, w, (bias != NULL) ? (bias + oc) : NULL, y + oc);
        }
        if (left > 0) {
            tinyrt_left_filters(p, f, pixels, left, x, w, (bias != NULL) ? (bias + oc) : NULL,
                                y + oc);
            oc += left;
            w += left * filter_size;
        }
    }
}

void TINYRT_KERNEL(const tinyrt_conv2d_f32_params *p, const float *x, const float *w,
                   const float *bias, float *y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            int32_t pixels = 0;
            for (int32_t ox = 0; ox < p->y.w; ox += pixels) {
                const tinyrt_footprint f =
                    tinyrt_footprint_of(&p->x, &p->window, p->x.c / p->groups, oy, ox);
                pixels = tinyrt_pixels_alike(p, ox);
                tinyrt_tile_channels(p, &f, pixels, x, w, bias, y);
                y += pixels * p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}

#endif
