/** The first steps of a front end's frame. */
#ifndef TINYRT_FRAME_H
#define TINYRT_FRAME_H

#include "tinyrt_types.h"

/** y = x * w / 2^12, rounded down, of w in [0, 2^12]. Returns a number with as many bits as the
 *  largest size; that of -32768, which an int16 does not hold, does not count. */
static inline uint32_t tinyrt_windowed(int32_t size, const int16_t *x, const int16_t *w,
                                       int16_t *y) {
    int32_t sizes = 0;
    for (int32_t i = 0; i < size; ++i) {
        const int32_t product = (x[i] * w[i]) >> 12;
        sizes |= ((product < 0) ? -product : product) & INT16_MAX;
        y[i] = (int16_t)product;
    }
    return (uint32_t)sizes;
}

/** y = y * 2^shift, modulo 2^16. */
static inline void tinyrt_shifted_left(int32_t size, int32_t shift, int16_t *y) {
    for (int32_t i = 0; i < size; ++i) {
        y[i] = (int16_t)(uint16_t)((uint32_t)y[i] << shift);
    }
}

#endif
