/** Requantisation of a doubled accumulator, in the fewest steps that are exact. */
#ifndef TINYRT_REQUANT4_H
#define TINYRT_REQUANT4_H

#include "tinyrt_simd.h"

/** What is added before a shift: y_zp and the half, times 2^shift; zp_and_half is 2 * y_zp + 1. */
static inline int32_t tinyrt_rounding_of(int32_t shift, int32_t zp_and_half) {
    return (int32_t)((uint32_t)zp_and_half << shift) >> 1;
}

/** (doubled / 2) * mult * 2^(-31 - shift), rounded twice, plus y_zp, limited to an int8's range.
 *  Requires: mult in [2^30, 2^31) or 0; shift in [1, 22]; |doubled| < 2^30.
 *
 *  With h = round(doubled * mult / 2^32), the second rounding is
 *  (h - (h < 0) + 2^(shift - 1)) >> shift; y_zp joins the constant, times 2^shift. */
static inline int8_t tinyrt_requant_doubled(int32_t doubled, int32_t mult, int32_t shift,
                                            int32_t zp_and_half) {
    const int32_t high = tinyrt_high_mul(doubled, mult);
    const int32_t rounding = tinyrt_rounding_of(shift, zp_and_half);
    return (int8_t)tinyrt_saturate((high + (high >> 31) + rounding) >> shift);
}

/** As tinyrt_requant_doubled, where several sums have one scale: cores with dual multiplies take an
 *  instruction less for each, and one more for the scale. The sum's sign stands in for that of h:
 *  they differ only where h is 0, and 1 less than 0 is rounded to the same. */
static inline int8_t tinyrt_requant_alike(int32_t doubled, int32_t mult, int32_t shift,
                                          int32_t zp_and_half) {
#if defined(TINYRT_HAS_SIGNED_HIGH_MUL) && !defined(__OPTIMIZE_SIZE__)
    const int32_t rounding = tinyrt_rounding_of(shift, zp_and_half);
    return (int8_t)tinyrt_saturate(tinyrt_signed_high_mul(doubled, mult, rounding) >> shift);
#else
    return tinyrt_requant_doubled(doubled, mult, shift, zp_and_half);
#endif
}

/** As tinyrt_requant_doubled for shift in [0, 22], which is given plus 1, as next_shift; rounding
 * is tinyrt_rounding_of(next_shift, 2 * y_zp + 1).
 *
 *  (2 * h - (h < 0) + 2^shift) >> next_shift is the same rounding, and none where shift is 0. */
static inline int8_t tinyrt_requant_rounded(int32_t doubled, int32_t mult, int32_t next_shift,
                                            int32_t rounding) {
    const int32_t high = tinyrt_high_mul(doubled, mult);
    const uint32_t sum = (uint32_t)(rounding + (high >> 31)) + ((uint32_t)high << 1);
    return (int8_t)tinyrt_saturate((int32_t)sum >> next_shift);
}

/** sum * mult * 2^(-31 - shift), rounded twice, plus y_zp, limited to an int8's range; negative
 *  shifts go left, before the multiplication.
 *  Requires: mult in [2^30, 2^31) or 0; shift in [-22, 22]; |sum| * 2^-min(shift, 0) < 2^29. */
static inline int8_t tinyrt_requant_any(int32_t sum, int32_t mult, int32_t shift,
                                        int32_t zp_and_half) {
    const int32_t left = (shift < 0) ? (1 - shift) : 1;
    const int32_t next = (shift < 0) ? 1 : (shift + 1);
    const int32_t doubled = (int32_t)((uint32_t)sum << left);
    return tinyrt_requant_rounded(doubled, mult, next, tinyrt_rounding_of(next, zp_and_half));
}

#endif
