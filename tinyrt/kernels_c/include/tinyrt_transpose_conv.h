/** transpose_conv: 2-D convolution with the window sliding over the output. */
#ifndef TINYRT_TRANSPOSE_CONV_H
#define TINYRT_TRANSPOSE_CONV_H

#include "tinyrt_window_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = clamp(requant(bias + sum((x - x_zp) * w)) + y_zp), over every input under whose window y
 *  lies: window slides over y. w is (c_out, kernel_h, kernel_w, c_in); bias may be NULL. y comes
 *  from the front: it may overlap x if it writes nothing before it is read.
 *  Requires: kernel_h * kernel_w * x.c * 32640 + |bias| < 2^31; dilation 1. */
void tinyrt_transpose_conv_s8(const tinyrt_transpose_conv_s8_params *p, const int8_t *x,
                              const int8_t *w, const int32_t *bias, int8_t *y);

/** y = clamp(bias + sum(x * w)), as for int8, and it may overlap x as there.
 *  Requires: dilation 1. */
void tinyrt_transpose_conv_f32(const tinyrt_transpose_conv_f32_params *p, const float *x,
                               const float *w, const float *bias, float *y);

/** As tinyrt_transpose_conv_f32, but w holds output channels as that of tinyrt_conv2d_f32, and a
 * sum begins with its bias. y may overlap x only where every row is written behind the rows still
 * read.
 */
void tinyrt_transpose_quads_f32(const tinyrt_transpose_conv_f32_params *p, const float *x,
                                const float *w, const float *bias, float *y);

#ifdef __cplusplus
}
#endif

#endif
