/** transpose_conv of int16 activations and int8 weights. */
#ifndef TINYRT_TRANSPOSE_CONV_WIDE_H
#define TINYRT_TRANSPOSE_CONV_WIDE_H

#include "tinyrt_requant_s16.h"

#ifdef __cplusplus
extern "C" {
#endif

/** window slides over y; dilation 1. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    tinyrt_requant_s16_params requant;
} tinyrt_transpose_conv_s16_params;

/** y = clamp(requant(bias + sum(x * w))), as tinyrt_transpose_conv_s8. */
void tinyrt_transpose_conv_s16(const tinyrt_transpose_conv_s16_params *p, const int16_t *x,
                               const int8_t *w, const int64_t *bias, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
