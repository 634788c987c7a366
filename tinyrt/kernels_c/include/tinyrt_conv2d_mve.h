/** conv2d: 2-D convolution, also grouped and dilated, for cores with MVE. */
#ifndef TINYRT_CONV2D_MVE_H
#define TINYRT_CONV2D_MVE_H

#include "tinyrt_product_s8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** band: how many outputs of a column are computed from one copy of what they read; 0 says that
 *  nothing need be copied: the window is one element.
 *  Requires: groups divides x.c and y.c; product has the size of one window and the output channels
 *  of one group; scratch has kernel_w * x.c / groups bytes for each row that a band reads; band is
 *  1 where dilation_h is not. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t groups;
    int32_t x_zp;
    int32_t band;
    tinyrt_product_s8_params product;
} tinyrt_conv2d_s8_params;

/** y = clamp(requant(bias + sum(x * w)) + y_zp); w and bias are packed as the product wants them,
 *  one group behind the other, and elements outside of x are x_zp. y overlaps nothing. */
void tinyrt_conv2d_s8(const tinyrt_conv2d_s8_params *p, const int8_t *x, const int8_t *w,
                      const int32_t *bias, int8_t *scratch, int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
