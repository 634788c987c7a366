/** average_pool2d: the mean under the window, padding not counted. */
#ifndef TINYRT_AVERAGE_POOL2D_H
#define TINYRT_AVERAGE_POOL2D_H

#include "tinyrt_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = clamp(sum(x) / count), over the taps inside the input, halves away from zero; raw values,
 *  since input and output share their scale. y may overlap x only where every row is written behind
 * the rows still read. */
void tinyrt_average_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y);

/** As tinyrt_average_pool2d_s8, four channels at a time, without a division for each mean.
 *  Requires: windows have 5,780 elements at most. */
void tinyrt_average_columns_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y);

/** As tinyrt_average_columns_s8, in fewer steps for each mean.
 *  Requires: windows have 255 elements at most. */
void tinyrt_average_short_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y);

/** As tinyrt_average_pool2d_s8, eight channels at a time, for cores with MVE.
 *  Requires: windows have 22 elements at most. */
void tinyrt_average_few_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y);

/** As tinyrt_average_pool2d_s8, halves up, as on uint8. */
void tinyrt_average_legacy_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y);

/** As tinyrt_average_pool2d_s8, for int16. */
void tinyrt_average_pool2d_s16(const tinyrt_pool2d_s8_params *p, const int16_t *x, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
