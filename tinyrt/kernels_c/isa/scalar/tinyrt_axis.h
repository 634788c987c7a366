/** Of an axis of a window, whose numbers are axes apart: sums, and what its spectrum is taken of.
 */
#ifndef TINYRT_AXIS_H
#define TINYRT_AXIS_H

#include "tinyrt_axis_sums.h"

static inline tinyrt_axis_sums tinyrt_axis_sums_of(const int16_t *x, int32_t axes, int32_t count) {
    tinyrt_axis_sums sums = {0, INT16_MAX, INT16_MIN, 0};
    for (int32_t i = 0; i < count; ++i) {
        const int32_t value = x[i * axes];
        sums.sum += value;
        sums.squares += (uint32_t)(value * value);
        sums.low = (value < sums.low) ? value : sums.low;
        sums.high = (value > sums.high) ? value : sums.high;
    }
    return sums;
}

/** y = (((x - mean) << up) * weight) >> 13. */
static inline void tinyrt_axis_raised(const int16_t *x, int32_t axes, int32_t count, int32_t mean,
                                      int32_t up, const int16_t *weights, int16_t *y) {
    for (int32_t i = 0; i < count; ++i) {
        const int32_t difference = (x[i * axes] - mean) * (1 << up);
        y[i] = (int16_t)((difference * weights[i]) >> 13);
    }
}

#endif
