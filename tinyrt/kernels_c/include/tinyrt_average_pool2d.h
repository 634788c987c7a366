/** average_pool2d: the mean under the window, padding not counted. */
#ifndef TINYRT_AVERAGE_POOL2D_H
#define TINYRT_AVERAGE_POOL2D_H

#include "tinyrt_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = clamp(sum(x) / count), over the taps inside the input, halves away from zero; raw values,
 *  since input and output share their scale. y overlaps nothing. */
void tinyrt_average_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x,
                              int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
