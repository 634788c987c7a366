/** Products of 64 bits in vectors of 32. */
#ifndef TINYRT_MVE_WIDE_H
#define TINYRT_MVE_WIDE_H

#include "tinyrt_mve.h"

/** The lower and the upper halves of numbers of 64 bits. */
typedef struct {
    uint32x4_t low;
    uint32x4_t high;
} tinyrt_wide;

static inline tinyrt_wide tinyrt_wide_product(uint32x4_t a, uint32x4_t b) {
    const tinyrt_wide product = {vmulq_u32(a, b), vmulhq_u32(a, b)};
    return product;
}

static inline tinyrt_wide tinyrt_wide_sum(tinyrt_wide a, tinyrt_wide b) {
    const uint32x4_t low = vaddq_u32(a.low, b.low);
    const uint32x4_t high = vaddq_u32(a.high, b.high);
    const mve_pred16_t carries = vcmphiq_u32(a.low, low);
    const tinyrt_wide sum = {low, vaddq_m_n_u32(high, high, 1, carries)};
    return sum;
}

/** a - b modulo 2^64. */
static inline tinyrt_wide tinyrt_wide_difference(tinyrt_wide a, tinyrt_wide b) {
    const uint32x4_t high = vsubq_u32(a.high, b.high);
    const mve_pred16_t borrows = vcmphiq_u32(b.low, a.low);
    const tinyrt_wide difference = {vsubq_u32(a.low, b.low), vsubq_m_n_u32(high, high, 1, borrows)};
    return difference;
}

/** x / 2^bits modulo 2^32. Requires: bits in [0, 63]. */
static inline uint32x4_t tinyrt_wide_shifted(tinyrt_wide x, int32_t bits) {
    return vorrq_u32(vshlq_r_u32(x.high, 32 - bits), vshlq_r_u32(x.low, -bits));
}

#endif
