/** batch_norm: normalisation of channels with given statistics. */
#ifndef TINYRT_BATCH_NORM_H
#define TINYRT_BATCH_NORM_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t rows;
    int32_t c;
    float epsilon;
} tinyrt_batch_norm_f32_params;

/** y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, for each channel of each row. y may be
 *  x. */
void tinyrt_batch_norm_f32(const tinyrt_batch_norm_f32_params *p, const float *x,
                           const float *gamma, const float *beta, const float *mean,
                           const float *variance, float *y);

#ifdef __cplusplus
}
#endif

#endif
