/** clamp: fused activations that the packed kernels leave to a second pass. */
#ifndef TINYRT_CLAMP_H
#define TINYRT_CLAMP_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = clamp(y), in place. */
void tinyrt_clamp_s8(int32_t size, int32_t low, int32_t high, int8_t *y);

/** y = x limited to [low, high]; NaN stays. y may be x. */
void tinyrt_clamp_f32(int32_t size, float low, float high, const float *x, float *y);

#ifdef __cplusplus
}
#endif

#endif
