/** What the softmax kernels on int16 make of a row's sum of exponentials. */
#ifndef TINYRT_SOFTMAX_S16_SUM_H
#define TINYRT_SOFTMAX_S16_SUM_H

#include "tinyrt_bits.h"
#include "tinyrt_fixedpoint.h"
#include "tinyrt_softmax.h"

/** A table of 513 entries over 0 to 65,535, linear between them. */
static inline int32_t tinyrt_table_at(const int16_t *table, int32_t x) {
    const int16_t *const entry = table + (x >> 7);
    const int32_t slope = entry[1] - entry[0];
    return entry[0] + ((slope * (x & 0x7F) + 64) >> 7);
}

/** Bits left of the greatest one; sum is positive, with 31 bits at most. */
static inline int32_t tinyrt_headroom(int32_t sum) {
    return 31 - tinyrt_bit_length((uint32_t)sum);
}

/** 2^(30 - headroom) / sum in Q0.15. */
static inline int32_t tinyrt_reciprocal_at(const int16_t *reciprocals, int32_t sum,
                                           int32_t headroom) {
    const uint32_t half = UINT32_C(1) << 13;
    const int32_t normalised = (int32_t)((((uint32_t)sum << headroom) + half) >> 14);
    const int32_t at = tinyrt_clamp(normalised - (1 << 16), 0, UINT16_MAX);
    return tinyrt_table_at(reciprocals, at);
}

#endif
