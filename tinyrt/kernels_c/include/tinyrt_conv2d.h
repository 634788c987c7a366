/** conv2d: 2-D convolution, also grouped and dilated. */
#ifndef TINYRT_CONV2D_H
#define TINYRT_CONV2D_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requires: groups divides x.c and y.c; kernel_h * kernel_w * x.c / groups * 32640 + |bias| <
 * 2^31. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t groups;
    int32_t x_zp;
    tinyrt_requant_params requant;
} tinyrt_conv2d_s8_params;

/** y = clamp(requant(bias + sum((x - x_zp) * w)) + y_zp).
 *  w is (c_out, kernel_h, kernel_w, c_in / groups); bias may be NULL; y may overlap x only where
 * every row is written behind the rows still read. */
void tinyrt_conv2d_s8(const tinyrt_conv2d_s8_params *p, const int8_t *x, const int8_t *w,
                      const int32_t *bias, int8_t *y);

/** Requires: groups divides x.c and y.c. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t groups;
    float act_min;
    float act_max;
} tinyrt_conv2d_f32_params;

/** y = clamp(bias + sum(x * w)).
 *  w is (c_out, kernel_h, kernel_w, c_in / groups) with each group's output channels taken four at
 * a time: their weights for one element of x lie side by side. Channels left over come one by one.
 *  bias may be NULL; y may overlap x only where every row is written behind the rows still read. */
void tinyrt_conv2d_f32(const tinyrt_conv2d_f32_params *p, const float *x, const float *w,
                       const float *bias, float *y);

#ifdef __cplusplus
}
#endif

#endif
