#include "tinyrt_conv2d.h"

#include "tinyrt_float_tile.h"
#include "tinyrt_footprint.h"

/** Output channels whose weights lie side by side. */
#define BLOCK 4

/** Adds the products of channels whose weights lie side by side: BLOCK of them, or one. */
static void accumulate(const tinyrt_footprint *f, const float *x, const float *w, int32_t channels,
                       float sum[BLOCK]) {
    x += f->x_start;
    w += channels * f->w_start;
    for (int32_t row = 0; row < f->rows; ++row) {
        for (int32_t run = 0; run < f->runs; ++run) {
            const float *from = x + (run * f->x_run_step);
            const float *weights = w + (channels * run * f->w_run_step);
            if (channels == BLOCK) {
                tinyrt_quad_run(from, weights, f->run_length, sum);
            } else {
                sum[0] = tinyrt_single_run(from, weights, f->run_length, sum[0]);
            }
        }
        x += f->x_row_step;
        w += channels * f->w_row_step;
    }
}

static void all_channels(const tinyrt_conv2d_f32_params *p, const tinyrt_footprint *f,
                         const float *x, const float *w, const float *bias, float *y) {
    const int32_t c_in = p->x.c / p->groups;
    const int32_t c_out = p->y.c / p->groups;
    const int32_t filter_size = p->window.kernel_h * p->window.kernel_w * c_in;
    int32_t oc = 0;
    for (int32_t group = 0; group < p->groups; ++group) {
        for (int32_t left = c_out; left > 0;) {
            const int32_t channels = left >= BLOCK ? BLOCK : 1;
            float sum[BLOCK] = {0.0F};
            for (int32_t i = 0; (i < channels) && (bias != NULL); ++i) {
                sum[i] = bias[oc + i];
            }
            accumulate(f, x, w, channels, sum);
            for (int32_t i = 0; i < channels; ++i) {
                y[oc++] = tinyrt_clampf(sum[i], p->act_min, p->act_max);
            }
            w += channels * filter_size;
            left -= channels;
        }
        x += c_in;
    }
}

#define TINYRT_KERNEL tinyrt_conv2d_f32
#define TINYRT_PARAMS tinyrt_conv2d_f32_params
#define TINYRT_X float
#define TINYRT_W float
#define TINYRT_SUM float
#define TINYRT_CHANNELS all_channels
#include "tinyrt_conv2d_pixels.h"
