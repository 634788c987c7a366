/** mean: rescaled mean over some axes. */
#ifndef TINYRT_MEAN_H
#define TINYRT_MEAN_H

#include "tinyrt_reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y_mult and y_shift contain the division by count, the number of elements per mean.
 *  Requires: count * 255 < 2^31. */
typedef struct {
    tinyrt_reduction axes;
    int32_t count;
    int32_t x_zp;
    int32_t y_zp;
    int32_t y_mult;
    int32_t y_shift;
} tinyrt_mean_s8_params;

/** y = clamp(requant(sum(x) - count * x_zp) + y_zp). y overlaps nothing. */
void tinyrt_mean_s8(const tinyrt_mean_s8_params *p, const int8_t *x, int8_t *TINYRT_RESTRICT y);

/** As tinyrt_mean_s8, for int16, whose zero points are 0; sums wrap as a register does. */
void tinyrt_mean_s16(const tinyrt_mean_s8_params *p, const int16_t *x, int16_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
