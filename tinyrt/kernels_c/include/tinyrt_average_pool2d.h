/** average_pool2d: the rounded mean under the window, padding not counted. */
#ifndef TINYRT_AVERAGE_POOL2D_H
#define TINYRT_AVERAGE_POOL2D_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requires: every window has a tap inside the input. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t act_min;
    int32_t act_max;
} tinyrt_average_pool2d_s8_params;

/** y = clamp(sum(x) / count), over the taps inside the input, halves away from zero; raw values,
 *  since input and output share their scale. y overlaps nothing. */
void tinyrt_average_pool2d_s8(const tinyrt_average_pool2d_s8_params *p, const int8_t *x,
                              int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
