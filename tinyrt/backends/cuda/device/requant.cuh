// Requantisation in two steps, as in tinyrt/fixedpoint.py: a doubling high multiply that rounds,
// then a right shift that rounds halves away from zero.
#pragma once
#include "platform.cuh"

namespace tinyrt {

// round(a * b / 2^31), halves upwards; only INT32_MIN squared saturates.
TINYRT_FN i32 high_product(i32 a, i32 b) {
    const i64 rounded = (static_cast<i64>(a) * b + (1ll << 30)) >> 31;
    return rounded > 2147483647ll ? 2147483647 : static_cast<i32>(rounded);
}

// x / 2^right, halves away from zero; right is 0 to 62.
TINYRT_FN i32 divide_by_power(i64 x, int right) {
    const i64 half = right == 0 ? 0 : 1ll << (right - 1);
    return static_cast<i32>(x >= 0 ? (x + half) >> right : -((-x + half) >> right));
}

// x * mult * 2^(shift - 31); what is shifted left wraps around, as in a register.
TINYRT_FN i32 requant(i32 x, i32 mult, int shift) {
    const int left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    const i32 shifted = static_cast<i32>(static_cast<u32>(x) << left);
    return divide_by_power(high_product(shifted, mult), right);
}

// The same for |x| up to 2^29 and exponents from -31 to 0, where nothing overflows or wraps around.
TINYRT_FN i32 requant_small(i32 x, i32 mult, int shift) {
    const bool halved = mult == 1 << 30;
    const i32 high =
        halved ? (x + 1) >> 1 : static_cast<i32>((static_cast<i64>(x) * mult + (1ll << 30)) >> 31);
    if (shift == 0)
        return high;
    return (high + (high >> 31) + (1 << (-shift - 1))) >> -shift;
}

// (x * mult + 2^(right - 1)) / 2^right, halves upwards: for accumulators of 64 bits.
TINYRT_FN i64 requant_wide(i64 x, i32 mult, int right) {
    return (x * mult + (1ll << (right - 1))) >> right;
}

enum { GENERAL, PLAIN, FOLDED };

// What accumulators begin with: as unsigned numbers they are what was summed, plus 2^31. Offsets
// below are less by as much; all of it is modulo 2^64.
constexpr i32 START = -2147483647 - 1;

// What one output channel needs, 16 bytes.
//   FOLDED: the output is the upper word of acc * mult + offset, shifted right by RIGHT: the
//     exporter has proved that the two steps give the same for each accumulator that can be.
//   PLAIN: that word is the doubling high product of accumulator and bias, for `mult` is the
//     multiplier twice; `shift` is the right shift, from 1. Nothing overflows.
//   GENERAL: `offset` is the bias, `shift` the exponent.
struct Channel {
    u64 offset;
    u32 mult;
    i32 shift;
};

TINYRT_FN Channel channel_at(const i8 *p) {
    u32 v[4];
    constant16(p, v);
    Channel c;
    c.offset = static_cast<u64>(v[1]) << 32 | v[0];
    c.mult = v[2];
    c.shift = static_cast<i32>(v[3]);
    return c;
}

// Within P::ACT_MIN and P::ACT_MAX, but for what saturation to int8 does.
template <class P> TINYRT_FN i32 activated(i32 y) {
    if (P::ACT_MIN > -128)
        y = greatest(y, P::ACT_MIN);
    if (P::ACT_MAX < 127)
        y = least(y, P::ACT_MAX);
    return y;
}

// From an accumulator (without bias) to an output that still has to be saturated to int8.
//
// The plain form adds zero point and half a step before the shift: 2 * zp + 1 halves.
template <class P> TINYRT_FN i32 output_of(i32 acc, const Channel &c) {
    i32 y;
    if (P::FORM == GENERAL) {
        const u32 whole =
            static_cast<u32>(acc) - static_cast<u32>(START) + static_cast<u32>(c.offset);
        const i32 mult = static_cast<i32>(c.mult);
        const i64 wide = static_cast<i64>(requant(static_cast<i32>(whole), mult, c.shift));
        y = static_cast<i32>(wide + P::Y_ZP > 1000    ? 1000
                             : wide + P::Y_ZP < -1000 ? -1000
                                                      : wide + P::Y_ZP);
    } else {
        const i32 high = static_cast<i32>(upper(static_cast<u32>(acc), c.mult, c.offset));
        const i32 half = static_cast<i32>(static_cast<u32>(2 * P::Y_ZP + 1) << (c.shift - 1));
        y = P::FORM == FOLDED ? high >> P::RIGHT : (high + (high >> 31) + half) >> c.shift;
    }
    return activated<P>(y);
}

TINYRT_FN u32 pack4(const i32 *v) {
    return pack2(v[0], v[1], pack2(v[2], v[3], 0));
}

} // namespace tinyrt
