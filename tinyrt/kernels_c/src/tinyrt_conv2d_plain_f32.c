#include "tinyrt_conv2d_float.h"

#include "tinyrt_float_start.h"
#include "tinyrt_float_tile.h"
#include "tinyrt_one_filter.h"

/** Four channels of a pixel; x points at its first tap, filters are filter_size apart. */
static TINYRT_TILE_CALLER void four_filters(const tinyrt_conv2d_f32_params *p,
                                            const tinyrt_footprint *f, int32_t filter_size,
                                            const float *x, const float *w, const float *bias,
                                            float *y) {
    float sum[4];
    tinyrt_quads_start(bias, 1, sum);
    w += f->w_start;
    for (int32_t row = 0; row < f->rows; ++row, x += f->x_row_step, w += f->w_row_step) {
        for (int32_t run = 0; run < f->runs; ++run) {
            tinyrt_quad_apart(x + (run * f->x_run_step), w + (run * f->w_run_step), filter_size,
                              f->run_length, sum);
        }
    }
    tinyrt_quads_finish(sum, 1, p->act_min, p->act_max, y, 4);
}

/** All channels of a pixel; x points at the image. */
static void all_channels(const tinyrt_conv2d_f32_params *p, const tinyrt_footprint *f,
                         const float *x, const float *w, const float *bias, float *y) {
    const int32_t c_in = p->x.c / p->groups;
    const int32_t c_out = p->y.c / p->groups;
    const int32_t filter_size = p->window.kernel_h * p->window.kernel_w * c_in;
    int32_t oc = 0;
    x += f->x_start;
    for (int32_t group = 0; group < p->groups; ++group, x += c_in) {
        int32_t left = c_out;
        for (; left >= 4; left -= 4, oc += 4, w += 4 * filter_size) {
            four_filters(p, f, filter_size, x, w, (bias != NULL) ? (bias + oc) : NULL, y + oc);
        }
        for (; left > 0; --left, ++oc, w += filter_size) {
            y[oc] = tinyrt_one_filter(p, f, x, w, (bias != NULL) ? bias[oc] : 0.0F);
        }
    }
}

#define TINYRT_KERNEL tinyrt_conv2d_plain_f32
#define TINYRT_PARAMS tinyrt_conv2d_f32_params
#define TINYRT_X float
#define TINYRT_W float
#define TINYRT_SUM float
#define TINYRT_CHANNELS all_channels
#include "tinyrt_conv2d_pixels.h"
