/** Averages over height and width of a tensor that comes row by row. */
#ifndef TINYRT_COLUMN_SUMS_H
#define TINYRT_COLUMN_SUMS_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** From sums over count pixels to raw means, halves away from zero. */
typedef struct {
    int32_t channels;
    int32_t count;
    int32_t act_min;
    int32_t act_max;
} tinyrt_average_sums_s8_params;

/** From sums over count pixels to rescaled means; y_mult and y_shift contain the division. */
typedef struct {
    int32_t channels;
    int32_t count;
    int32_t x_zp;
    int32_t y_zp;
    int32_t y_mult;
    int32_t y_shift;
} tinyrt_mean_sums_s8_params;

/** Adds pixels to the sum of each channel. */
void tinyrt_column_sums_s8(int32_t pixels, int32_t channels, const int8_t *x, int32_t *sums);

/** y = clamp(sums / count). */
void tinyrt_average_sums_s8(const tinyrt_average_sums_s8_params *p, const int32_t *sums, int8_t *y);

/** y = clamp(requant(sums - count * x_zp) + y_zp). */
void tinyrt_mean_sums_s8(const tinyrt_mean_sums_s8_params *p, const int32_t *sums, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
