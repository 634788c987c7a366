/** depthwise_conv2d of floats: each input channel has filters of its own. */
#ifndef TINYRT_DEPTHWISE_CONV2D_FLOAT_H
#define TINYRT_DEPTHWISE_CONV2D_FLOAT_H

#include "tinyrt_window_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = clamp(bias + sum(x * w)), every output channel from one channel of x.
 *  w is (kernel_h, kernel_w, c_out); bias may be NULL; y may overlap x only where every row is
 *  written behind the rows still read. Requires: x.c divides y.c. */
void tinyrt_depthwise_conv2d_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                                 const float *w, const float *bias, float *y);

/** As tinyrt_depthwise_conv2d_f32, up to sixteen channels of a pixel at once. Requires: x.c equals
 *  y.c, and there are four channels or more. */
void tinyrt_depthwise_quads_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                                const float *w, const float *bias, float *y);

/** As tinyrt_depthwise_conv2d_f32, where a channel of x has several filters, which take turns: w is
 *  (y.c / x.c, kernel_h, kernel_w, x.c), and bias (y.c / x.c, x.c). Requires: x has four channels
 * or more. */
void tinyrt_depthwise_turns_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                                const float *w, const float *bias, float *y);

/** As tinyrt_depthwise_turns_f32, four pixels at once: bias (y.c / x.c, 4, x.c) has each filter's
 *  four times. Requires: x has four channels or fewer. */
void tinyrt_depthwise_few_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                              const float *w, const float *bias, float *y);

/** As tinyrt_depthwise_conv2d_f32, sixteen channels of a pixel at once. Requires: y.c is a multiple
 * of sixteen, and a channel of x has 4, 8, 16, ... filters. */
void tinyrt_depthwise_spread_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                                 const float *w, const float *bias, float *y);

#ifdef __cplusplus
}
#endif

#endif
