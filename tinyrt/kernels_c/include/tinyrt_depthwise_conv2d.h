/** depthwise_conv2d: each input channel has filters of its own. */
#ifndef TINYRT_DEPTHWISE_CONV2D_H
#define TINYRT_DEPTHWISE_CONV2D_H

#include "tinyrt_depthwise_conv2d_float.h"
#include "tinyrt_window_params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef tinyrt_window_s8_params tinyrt_depthwise_conv2d_plain_s8_params;

/** y = clamp(requant(bias + sum((x - x_zp) * w)) + y_zp); output channel c reads input channel
 *  c / (y.c / x.c). w is (1, kernel_h, kernel_w, c_out); bias may be NULL; y may overlap x only
 *  where every row is written behind the rows still read.
 *  Requires: y.c is a multiple of x.c; kernel_h * kernel_w * 32640 < 2^31. */
void tinyrt_depthwise_conv2d_plain_s8(const tinyrt_depthwise_conv2d_plain_s8_params *p,
                                      const int8_t *x, const int8_t *w, const int32_t *bias,
                                      int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
