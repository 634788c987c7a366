/** A filter of a convolution of floats by itself. */
#ifndef TINYRT_ONE_FILTER_H
#define TINYRT_ONE_FILTER_H

#include "tinyrt_conv2d_float.h"
#include "tinyrt_float_tile.h"
#include "tinyrt_footprint.h"

/** One channel of a pixel; x points at its first tap. */
static float tinyrt_one_filter(const tinyrt_conv2d_f32_params *p, const tinyrt_footprint *f,
                               const float *x, const float *w, float sum) {
    w += f->w_start;
    for (int32_t row = 0; row < f->rows; ++row, x += f->x_row_step, w += f->w_row_step) {
        for (int32_t run = 0; run < f->runs; ++run) {
            sum = tinyrt_single_run(x + (run * f->x_run_step), w + (run * f->w_run_step),
                                    f->run_length, sum);
        }
    }
    return tinyrt_clampf(sum, p->act_min, p->act_max);
}

#endif
