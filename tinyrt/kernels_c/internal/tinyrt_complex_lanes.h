/** Complex numbers of int16 in the lanes of a vector. */
#ifndef TINYRT_COMPLEX_LANES_H
#define TINYRT_COMPLEX_LANES_H

#include "tinyrt_mve.h"

/** Complex numbers that a vector holds. */
#define TINYRT_COMPLEX_LANES 4

/** a * w / 2^15 + 1/2. */
static inline int16x8_t tinyrt_turned_lanes(int16x8_t a, int16x8_t w) {
    return vqrdmladhxq_s16(vqrdmlsdhq_s16(a, a, w), a, w);
}

#endif
