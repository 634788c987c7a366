/** conv2d of floats: 2-D convolution, also grouped and dilated. */
#ifndef TINYRT_CONV2D_FLOAT_H
#define TINYRT_CONV2D_FLOAT_H

#include "tinyrt_window_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = clamp(bias + sum(x * w)). Requires: groups divides x.c and y.c.
 *  w is (c_out, kernel_h, kernel_w, c_in / groups) with each group's output channels taken four at
 * a time: their weights for one element of x lie side by side. Channels left over come one by one.
 *  bias may be NULL; y may overlap x only where every row is written behind the rows still read. */
void tinyrt_conv2d_f32(const tinyrt_conv2d_f32_params *p, const float *x, const float *w,
                       const float *bias, float *y);

/** The same with weights that the model computes: w lies in rows, y overlaps nothing. */
void tinyrt_conv2d_plain_f32(const tinyrt_conv2d_f32_params *p, const float *x, const float *w,
                             const float *bias, float *y);

#ifdef __cplusplus
}
#endif

#endif
