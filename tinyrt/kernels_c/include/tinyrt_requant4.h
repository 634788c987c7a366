/** Requantisation of a doubled accumulator, in the fewest steps that are exact. */
#ifndef TINYRT_REQUANT4_H
#define TINYRT_REQUANT4_H

#include "tinyrt_simd.h"

/** What tinyrt_requant_rounded adds before it shifts; zp_and_half is 2 * y_zp + 1. */
static inline int32_t tinyrt_rounding_of(int32_t shift, int32_t zp_and_half) {
    return (int32_t)((uint32_t)zp_and_half << shift) >> 1;
}

/** (doubled / 2) * mult * 2^(-31 - shift), rounded twice, plus y_zp, limited to an int8's range;
 *  rounding is tinyrt_rounding_of(shift, 2 * y_zp + 1).
 *  Requires: mult in [2^30, 2^31) or 0; shift in [1, 22]; |doubled| < 2^30.
 *
 *  With h = round(doubled * mult / 2^32), the second rounding is
 *  (h - (h < 0) + 2^(shift - 1)) >> shift; y_zp joins the constant, times 2^shift. */
static inline int8_t tinyrt_requant_rounded(int32_t doubled, int32_t mult, int32_t shift,
                                            int32_t rounding) {
    const int32_t high = tinyrt_high_mul(doubled, mult);
    return (int8_t)tinyrt_saturate((high + (high >> 31) + rounding) >> shift);
}

/** As tinyrt_requant_rounded where a shift serves for one or two outputs only. */
static inline int8_t tinyrt_requant_doubled(int32_t doubled, int32_t mult, int32_t shift,
                                            int32_t zp_and_half) {
    return tinyrt_requant_rounded(doubled, mult, shift, tinyrt_rounding_of(shift, zp_and_half));
}

#endif
