/** conv2d: 2-D convolution, also grouped and dilated. It reads weights as the model has them: these
 *  may be computed as the model runs, and other kernels read weights that were packed before. */
#ifndef TINYRT_CONV2D_H
#define TINYRT_CONV2D_H

#include "tinyrt_conv2d_float.h"
#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requires: groups divides x.c and y.c; kernel_h * kernel_w * x.c / groups * 32640 < 2^31. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t groups;
    int32_t x_zp;
    tinyrt_requant_params requant;
} tinyrt_conv2d_plain_s8_params;

/** y = clamp(requant(bias + sum((x - x_zp) * w)) + y_zp).
 *  w is (c_out, kernel_h, kernel_w, c_in / groups); bias may be NULL; y may overlap x only where
 * every row is written behind the rows still read. */
void tinyrt_conv2d_plain_s8(const tinyrt_conv2d_plain_s8_params *p, const int8_t *x,
                            const int8_t *w, const int32_t *bias, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
