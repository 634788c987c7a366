/** depthwise_conv2d of int16 activations and int8 weights. */
#ifndef TINYRT_DEPTHWISE_WIDE_H
#define TINYRT_DEPTHWISE_WIDE_H

#include "tinyrt_requant_s16.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requires: x.c divides y.c. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    tinyrt_requant_s16_params requant;
} tinyrt_depthwise_conv2d_s16_params;

/** y = clamp(requant(bias + sum(x * w))), every output channel from one channel of x.
 *  w is (kernel_h, kernel_w, c_out); bias may be NULL; y overlaps nothing. */
void tinyrt_depthwise_conv2d_s16(const tinyrt_depthwise_conv2d_s16_params *p, const int16_t *x,
                                 const int8_t *w, const int64_t *bias, int16_t *TINYRT_RESTRICT y);

/** The same, four channels at a time. Requires: x.c is y.c, and a multiple of four; the window has
 * at most 511 taps. */
void tinyrt_depthwise_quads_s16(const tinyrt_depthwise_conv2d_s16_params *p, const int16_t *x,
                                const int8_t *w, const int64_t *bias, int16_t *TINYRT_RESTRICT y);

/** As tinyrt_depthwise_conv2d_s16_params, where accumulators fit 32 bits. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    tinyrt_raised_s16 raised;
} tinyrt_depthwise_raised_s16_params;

/** As tinyrt_depthwise_conv2d_s16, four channels at a time, for cores with vectors; bias is not
 * NULL. Requires: x.c is y.c, and a multiple of four. */
void tinyrt_depthwise_raised_s16(const tinyrt_depthwise_raised_s16_params *p, const int16_t *x,
                                 const int8_t *w, const int32_t *bias, int16_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
