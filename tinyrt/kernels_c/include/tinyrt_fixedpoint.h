/** Fixed-point arithmetic of the 8-bit scheme: the only C home of requantisation.
 *
 *  Requantisation rounds twice: a doubling high multiply with rounding, then a rounding right
 *  shift. Right shifts of negative numbers are arithmetic on every compiler this is built with. */
#ifndef TINYRT_FIXEDPOINT_H
#define TINYRT_FIXEDPOINT_H

#include "tinyrt_types.h"

/** value limited to [low, high]. */
static inline int32_t tinyrt_clamp(int32_t value, int32_t low, int32_t high) {
    if (value < low) {
        return low;
    }
    return (value > high) ? high : value;
}

/** value * 2^exponent, wrapping as a register does; exponent in [0, 31]. */
static inline int32_t tinyrt_shift_left(int32_t value, int32_t exponent) {
    return (int32_t)((uint32_t)value << exponent);
}

/** a + b, wrapping as a register does: a bias that the model computes may be any number. */
static inline int32_t tinyrt_add_wrapping(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/** value * 2^exponent, saturated; exponent in [1, 30]. */
static inline int32_t tinyrt_saturating_shift_left(int32_t value, int32_t exponent) {
    const int32_t limit = INT32_MAX >> exponent;
    if (value > limit) {
        return INT32_MAX;
    }
    return (value < (-limit - 1)) ? INT32_MIN : tinyrt_shift_left(value, exponent);
}

/** round(a * b / 2^31), halves towards +infinity. Requires: not both operands INT32_MIN. */
static inline int32_t tinyrt_rounding_doubling_high_mul(int32_t a, int32_t b) {
    return (int32_t)((((int64_t)a * b) + (INT64_C(1) << 30)) >> 31);
}

/** value / 2^exponent, halves away from zero; exponent in [0, 31]. */
static inline int32_t tinyrt_rounding_divide_by_pot(int32_t value, int32_t exponent) {
    const int32_t mask = (int32_t)((UINT32_C(1) << exponent) - 1);
    const int32_t threshold = (mask >> 1) + ((value < 0) ? 1 : 0);
    return (value >> exponent) + (((value & mask) > threshold) ? 1 : 0);
}

/** value * mult * 2^(shift - 31), rounded twice. Requires: mult >= 0, shift in [-31, 31]. */
static inline int32_t tinyrt_requant(int32_t value, int32_t mult, int32_t shift) {
    const int32_t left = (shift > 0) ? shift : 0;
    const int32_t right = (shift > 0) ? 0 : -shift;
    return tinyrt_rounding_divide_by_pot(
        tinyrt_rounding_doubling_high_mul(tinyrt_shift_left(value, left), mult), right);
}

/** (value - zero_point) * 2^left, brought to another scale: how sums raise their inputs first. */
static inline int32_t tinyrt_rescale(int32_t value, int32_t zero_point, int32_t left, int32_t mult,
                                     int32_t shift) {
    return tinyrt_requant(tinyrt_shift_left(value - zero_point, left), mult, shift);
}

/** clamp(value + zero_point) without overflow: limits are moved instead of the value.
 *  Requires: INT8_MIN <= low <= high <= INT8_MAX. */
static inline int8_t tinyrt_to_s8(int32_t value, int32_t zero_point, int32_t low, int32_t high) {
    return (int8_t)(tinyrt_clamp(value, low - zero_point, high - zero_point) + zero_point);
}

/** The int8 output of channel c for its accumulator. */
static inline int8_t tinyrt_requant_channel(const tinyrt_requant_params *p, int32_t c,
                                            int32_t acc) {
    const int32_t i = c * p->step;
    const int32_t value = tinyrt_requant(acc, p->mult[i], p->shift[i]);
    return tinyrt_to_s8(value, p->y_zp, p->act_min, p->act_max);
}

#endif
