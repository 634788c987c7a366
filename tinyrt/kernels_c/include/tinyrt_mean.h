/** mean: rescaled mean over some axes. */
#ifndef TINYRT_MEAN_H
#define TINYRT_MEAN_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The axes that stay and those that are summed over, with their strides in x, in elements.
 *  y_mult and y_shift contain the division by count, the product of the summed dims; y_mult 0 says
 *  that x and y share scale and zero point.
 *  Requires: count * 255 < 2^31. */
typedef struct {
    int32_t kept_rank;
    int32_t kept_dims[TINYRT_MAX_RANK];
    int32_t kept_strides[TINYRT_MAX_RANK];
    int32_t summed_rank;
    int32_t summed_dims[TINYRT_MAX_RANK];
    int32_t summed_strides[TINYRT_MAX_RANK];
    int32_t count;
    int32_t x_zp;
    int32_t y_zp;
    int32_t y_mult;
    int32_t y_shift;
} tinyrt_mean_s8_params;

/** y = clamp(requant(sum(x) - count * x_zp) + y_zp), or sum(x) / count truncated towards zero where
 *  x and y share their scale. y overlaps nothing. */
void tinyrt_mean_s8(const tinyrt_mean_s8_params *p, const int8_t *x, int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
