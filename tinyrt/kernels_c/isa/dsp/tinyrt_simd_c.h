/** In C what tinyrt_simd_acle.h has instructions for, included by tinyrt_simd.h. */
#ifndef TINYRT_SIMD_C_H
#define TINYRT_SIMD_C_H

#include "tinyrt_halves.h"

static inline uint32_t tinyrt_even_bytes(uint32_t word) {
    return tinyrt_pair((int8_t)(uint8_t)word, (int8_t)(uint8_t)(word >> 16));
}

static inline uint32_t tinyrt_odd_bytes(uint32_t word) {
    return tinyrt_even_bytes(word >> 8);
}

static inline uint32_t tinyrt_add_even_bytes(uint32_t pair, uint32_t word) {
    const uint32_t bytes = tinyrt_even_bytes(word);
    return tinyrt_pair(tinyrt_low(pair) + tinyrt_low(bytes),
                       tinyrt_high(pair) + tinyrt_high(bytes));
}

static inline uint32_t tinyrt_add_odd_bytes(uint32_t pair, uint32_t word) {
    return tinyrt_add_even_bytes(pair, word >> 8);
}

static inline int32_t tinyrt_dot_pair(uint32_t a, uint32_t b, int32_t acc) {
    const uint32_t low = (uint32_t)(tinyrt_low(a) * tinyrt_low(b));
    const uint32_t high = (uint32_t)(tinyrt_high(a) * tinyrt_high(b));
    return (int32_t)((uint32_t)acc + low + high);
}

static inline int32_t tinyrt_add_low_low(uint32_t a, uint32_t b, int32_t acc) {
    return acc + tinyrt_low(a) * tinyrt_low(b);
}

static inline int32_t tinyrt_add_low_high(uint32_t a, uint32_t b, int32_t acc) {
    return acc + tinyrt_low(a) * tinyrt_high(b);
}

static inline int32_t tinyrt_add_scaled_low(int32_t factor, uint32_t pair, int32_t acc) {
    const int64_t product = (int64_t)factor * tinyrt_low(pair);
    return (int32_t)((uint32_t)acc + (uint32_t)(product >> 16));
}

static inline int32_t tinyrt_add_scaled_high(int32_t factor, uint32_t pair, int32_t acc) {
    return tinyrt_add_scaled_low(factor, pair >> 16, acc);
}

static inline uint32_t tinyrt_add_pairs(uint32_t a, uint32_t b) {
    return tinyrt_pair(tinyrt_low(a) + tinyrt_low(b), tinyrt_high(a) + tinyrt_high(b));
}

static inline uint32_t tinyrt_subtract_pairs(uint32_t a, uint32_t b) {
    return tinyrt_pair(tinyrt_low(a) - tinyrt_low(b), tinyrt_high(a) - tinyrt_high(b));
}

/** Of each two bytes the one of a where it is larger, else that of b. */
static inline uint32_t tinyrt_max_bytes(uint32_t a, uint32_t b) {
    uint32_t most = 0;
    for (int32_t i = 0; i < 32; i += 8) {
        const int8_t from_a = (int8_t)(uint8_t)(a >> i);
        const int8_t from_b = (int8_t)(uint8_t)(b >> i);
        most |= (uint32_t)(uint8_t)((from_a >= from_b) ? from_a : from_b) << i;
    }
    return most;
}

static inline uint32_t tinyrt_min_bytes(uint32_t a, uint32_t b) {
    return ~tinyrt_max_bytes(~a, ~b);
}

static inline int32_t tinyrt_limit_byte(int32_t value) {
    if (value < 0) {
        return 0;
    }
    return value > UINT8_MAX ? UINT8_MAX : value;
}

static inline uint32_t tinyrt_limit_pair(uint32_t pair) {
    return tinyrt_pair(tinyrt_limit_byte(tinyrt_low(pair)), tinyrt_limit_byte(tinyrt_high(pair)));
}

static inline uint32_t tinyrt_limit_shifted(int32_t value) {
    return (uint32_t)tinyrt_limit_byte(value >> 21);
}

static inline int32_t tinyrt_saturate(int32_t value) {
    if (value < INT8_MIN) {
        return INT8_MIN;
    }
    return (value > INT8_MAX) ? INT8_MAX : value;
}

static inline int32_t tinyrt_saturate_s16(int32_t value) {
    if (value < INT16_MIN) {
        return INT16_MIN;
    }
    return (value > INT16_MAX) ? INT16_MAX : value;
}

#endif
