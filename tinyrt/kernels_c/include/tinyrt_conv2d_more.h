/** conv2d for cores with MVE, with weights beyond int8: some taps are read more than once. */
#ifndef TINYRT_CONV2D_MORE_H
#define TINYRT_CONV2D_MORE_H

#include "tinyrt_conv2d_mve.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of each point of a window, count of its column_bytes = kernel_h * x.c / groups bytes are read
 * again, behind them: those at places, whose bytes are counted from the point's first one, and of
 * which each group has its own. gathers: whether the window is one element, and a point has 16
 * bytes then. Requires: product has the size of one window of a group, with what is read again;
 * scratch has column_bytes + count bytes for each point that is read at once. */
typedef struct {
    tinyrt_conv2d_s8_params layer;
    int32_t column_bytes;
    int32_t count;
    int32_t gathers;
    const int16_t *places;
} tinyrt_conv2d_more_s8_params;

/** As tinyrt_conv2d_s8, with weights for what is read again behind those of each of a window's
 *  points; the window may be one element, but scratch is no less. */
void tinyrt_conv2d_more_s8(const tinyrt_conv2d_more_s8_params *p, const int8_t *x, const int8_t *w,
                           const int32_t *scales, int8_t *scratch, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
