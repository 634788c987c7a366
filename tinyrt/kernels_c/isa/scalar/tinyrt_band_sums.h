/** Energies of frequencies, and sums of what a band's frequencies give to it and to the next one.
 */
#ifndef TINYRT_BAND_SUMS_H
#define TINYRT_BAND_SUMS_H

#include "tinyrt_types.h"

/** y = real**2 + imaginary**2 of count pairs. */
static inline void tinyrt_energies(int32_t count, const int16_t *x, uint32_t *y) {
    for (int32_t i = 0; i < count; ++i) {
        const int32_t real = x[2 * i];
        const int32_t imaginary = x[(2 * i) + 1];
        y[i] = (uint32_t)(real * real) + (uint32_t)(imaginary * imaginary);
    }
}

/** Sums of count products of x with up, and with down, neither of them negative. */
static inline void tinyrt_band_sums(int32_t count, const uint32_t *x, const int16_t *up,
                                    const int16_t *down, uint64_t *ups, uint64_t *downs) {
    uint64_t sum = 0;
    uint64_t other = 0;
    for (int32_t i = 0; i < count; ++i) {
        sum += (uint64_t)x[i] * (uint16_t)up[i];
        other += (uint64_t)x[i] * (uint16_t)down[i];
    }
    *ups = sum;
    *downs = other;
}

#endif
