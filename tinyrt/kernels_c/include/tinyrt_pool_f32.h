/** pool2d: average and maximum of floats under a window. */
#ifndef TINYRT_POOL_F32_H
#define TINYRT_POOL_F32_H

#include "tinyrt_float.h"

#ifdef __cplusplus
extern "C" {
#endif

/** average: whether the result is divided by the number of taps inside the input.
 *  Requires: every window has a tap inside the input; dilation 1. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    float start;
    int32_t average;
    float act_min;
    float act_max;
} tinyrt_pool2d_f32_params;

/** y = clamp(f(f(start, x0), x1)...), over the taps inside the input, divided by their number for
 * an average. y may overlap x only where every row is written behind the rows still read. */
void tinyrt_pool2d_f32(const tinyrt_pool2d_f32_params *p, tinyrt_function2 f, const float *x,
                       float *y);

#ifdef __cplusplus
}
#endif

#endif
