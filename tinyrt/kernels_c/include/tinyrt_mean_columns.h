/** mean and sum along columns: over axes that lie outside of those that stay. */
#ifndef TINYRT_MEAN_COLUMNS_H
#define TINYRT_MEAN_COLUMNS_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The input as (outer, pixels, channels). first is what sums begin with, -pixels * x_zp; y_mult
 * and y_shift contain the division of a mean. Requires: pixels * 255 < 2^31. */
typedef struct {
    int32_t outer;
    int32_t pixels;
    int32_t channels;
    int32_t first;
    int32_t y_mult;
    int32_t y_shift;
    int32_t y_zp;
} tinyrt_mean_columns_s8_params;

/** y (outer, channels) = clamp(requant(first + sum(x)) + y_zp). y overlaps nothing. */
void tinyrt_mean_columns_s8(const tinyrt_mean_columns_s8_params *p, const int8_t *x,
                            int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
