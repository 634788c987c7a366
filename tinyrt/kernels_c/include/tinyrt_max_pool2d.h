/** max_pool2d: the largest element under the window. */
#ifndef TINYRT_MAX_POOL2D_H
#define TINYRT_MAX_POOL2D_H

#include "tinyrt_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = clamp(max(x)), over the taps inside the input. y may overlap x only where every row is
 * written behind the rows still read. */
void tinyrt_max_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y);

/** As tinyrt_max_pool2d_s8, for int16. */
void tinyrt_max_pool2d_s16(const tinyrt_pool2d_s8_params *p, const int16_t *x, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
