/** conv2d as the function TINYRT_KERNEL of TINYRT_PARAMS, over activations of TINYRT_X, weights of
 *  TINYRT_W, which lie in rows, biases and sums of TINYRT_SUM, which are set where this is
 * included. TINYRT_ADD_PRODUCT(p, sum, x, w) is a sum and one more product, TINYRT_FINISH(p, c,
 * sum, bias) what becomes of the sum of output channel c and of its bias. */
#ifndef TINYRT_CONV2D_LOOP_H
#define TINYRT_CONV2D_LOOP_H

#include "tinyrt_footprint.h"

/** The products of one run of elements. */
static TINYRT_SUM tinyrt_run_sum(const TINYRT_PARAMS *p, const TINYRT_X *x, const TINYRT_W *w,
                                 int32_t length) {
    TINYRT_SUM sum = 0;
    (void)p; /* Not all types have a zero point. */
    for (int32_t i = 0; i < length; ++i) {
        sum = TINYRT_ADD_PRODUCT(p, sum, x[i], w[i]);
    }
    return sum;
}

/** A filter's products with what lies under it. */
static TINYRT_SUM tinyrt_filter_sum(const TINYRT_PARAMS *p, const tinyrt_footprint *f,
                                    const TINYRT_X *x, const TINYRT_W *w) {
    TINYRT_SUM sum = 0;
    x += f->x_start;
    w += f->w_start;
    for (int32_t row = 0; row < f->rows; ++row) {
        for (int32_t run = 0; run < f->runs; ++run) {
            sum += tinyrt_run_sum(p, x + (run * f->x_run_step), w + (run * f->w_run_step),
                                  f->run_length);
        }
        x += f->x_row_step;
        w += f->w_row_step;
    }
    return sum;
}

/** All channels of one output, group by group. */
static void tinyrt_all_filters(const TINYRT_PARAMS *p, const tinyrt_footprint *f, const TINYRT_X *x,
                               const TINYRT_W *w, const TINYRT_SUM *bias, TINYRT_X *y) {
    const int32_t c_in = p->x.c / p->groups;
    const int32_t c_out = p->y.c / p->groups;
    const int32_t filter_size = p->window.kernel_h * p->window.kernel_w * c_in;
    int32_t oc = 0;
    for (int32_t group = 0; group < p->groups; ++group) {
        for (int32_t i = 0; i < c_out; ++i, ++oc) {
            const TINYRT_SUM sum = tinyrt_filter_sum(p, f, x, w);
            y[oc] = TINYRT_FINISH(p, oc, sum, (bias != NULL) ? bias[oc] : 0);
            w += filter_size;
        }
        x += c_in;
    }
}

#define TINYRT_CHANNELS tinyrt_all_filters
#include "tinyrt_conv2d_pixels.h"

#endif
