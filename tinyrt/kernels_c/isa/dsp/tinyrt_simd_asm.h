/** Instructions on pairs of 16-bit halves in assembly, included by tinyrt_simd.h. */
#ifndef TINYRT_SIMD_ASM_H
#define TINYRT_SIMD_ASM_H

#include "tinyrt_types.h"

/** Bytes 0 and 2, sign-extended to a pair. */
static inline uint32_t tinyrt_even_bytes(uint32_t word) {
    uint32_t pair;
    __asm("sxtb16 %0, %1" : "=r"(pair) : "r"(word));
    return pair;
}

/** Bytes 1 and 3, sign-extended to a pair. */
static inline uint32_t tinyrt_odd_bytes(uint32_t word) {
    uint32_t pair;
    __asm("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
    return pair;
}

/** Adds bytes 0 and 2, sign-extended, to a pair. */
static inline uint32_t tinyrt_add_even_bytes(uint32_t pair, uint32_t word) {
    uint32_t sum;
    __asm("sxtab16 %0, %1, %2" : "=r"(sum) : "r"(pair), "r"(word));
    return sum;
}

/** Adds bytes 1 and 3, sign-extended, to a pair. */
static inline uint32_t tinyrt_add_odd_bytes(uint32_t pair, uint32_t word) {
    uint32_t sum;
    __asm("sxtab16 %0, %1, %2, ror #8" : "=r"(sum) : "r"(pair), "r"(word));
    return sum;
}

/** The low halves of both words. */
static inline uint32_t tinyrt_low_halves(uint32_t first, uint32_t second) {
    uint32_t pair;
    __asm("pkhbt %0, %1, %2, lsl #16" : "=r"(pair) : "r"(first), "r"(second));
    return pair;
}

/** The high halves of both words. */
static inline uint32_t tinyrt_high_halves(uint32_t first, uint32_t second) {
    uint32_t pair;
    __asm("pkhtb %0, %1, %2, asr #16" : "=r"(pair) : "r"(second), "r"(first));
    return pair;
}

/** acc + low * low + high * high, modulo 2^32. */
static inline int32_t tinyrt_dot_pair(uint32_t a, uint32_t b, int32_t acc) {
    int32_t sum;
    __asm("smlad %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(acc));
    return sum;
}

/** acc + low * low. */
static inline int32_t tinyrt_add_low_low(uint32_t a, uint32_t b, int32_t acc) {
    int32_t sum;
    __asm("smlabb %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(acc));
    return sum;
}

/** acc + low * high. */
static inline int32_t tinyrt_add_low_high(uint32_t a, uint32_t b, int32_t acc) {
    int32_t sum;
    __asm("smlabt %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(acc));
    return sum;
}

/** acc + (factor * low) / 2^16, rounded down, modulo 2^32. */
static inline int32_t tinyrt_add_scaled_low(int32_t factor, uint32_t pair, int32_t acc) {
    int32_t sum;
    __asm("smlawb %0, %1, %2, %3" : "=r"(sum) : "r"(factor), "r"(pair), "r"(acc));
    return sum;
}

/** acc + (factor * high) / 2^16, rounded down, modulo 2^32. */
static inline int32_t tinyrt_add_scaled_high(int32_t factor, uint32_t pair, int32_t acc) {
    int32_t sum;
    __asm("smlawt %0, %1, %2, %3" : "=r"(sum) : "r"(factor), "r"(pair), "r"(acc));
    return sum;
}

/** Sums of the halves of two pairs. */
static inline uint32_t tinyrt_add_pairs(uint32_t a, uint32_t b) {
    uint32_t sum;
    __asm("sadd16 %0, %1, %2" : "=r"(sum) : "r"(a), "r"(b) : "cc");
    return sum;
}

static inline uint32_t tinyrt_subtract_pairs(uint32_t a, uint32_t b) {
    uint32_t difference;
    __asm("ssub16 %0, %1, %2" : "=r"(difference) : "r"(a), "r"(b) : "cc");
    return difference;
}

/** Both halves limited to [0, 255]. */
static inline uint32_t tinyrt_limit_pair(uint32_t pair) {
    uint32_t limited;
    __asm("usat16 %0, #8, %1" : "=r"(limited) : "r"(pair) : "cc");
    return limited;
}

/** value / 2^21, rounded down and limited to [0, 255]. */
static inline uint32_t tinyrt_limit_shifted(int32_t value) {
    uint32_t limited;
    __asm("usat %0, #8, %1, asr #21" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

/** acc + round(a * b / 2^32), halves towards +infinity. */
static inline int32_t tinyrt_add_high_mul(int32_t a, int32_t b, int32_t acc) {
    int32_t sum;
    __asm("smmlar %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(acc));
    return sum;
}

/** acc, less by 1 where value is negative. */
static inline int32_t tinyrt_add_sign(int32_t acc, int32_t value) {
    int32_t sum;
    __asm("add %0, %1, %2, asr #31" : "=r"(sum) : "r"(acc), "r"(value));
    return sum;
}

/** acc + a * b / 2^32, rounded down. */
static inline int32_t tinyrt_add_floored_mul(int32_t a, int32_t b, int32_t acc) {
    int32_t sum;
    __asm("smmla %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(acc));
    return sum;
}

/** The larger of each two signed bytes. */
static inline uint32_t tinyrt_max_bytes(uint32_t a, uint32_t b) {
    uint32_t most;
    __asm("ssub8 %0, %1, %2\n"
          "sel %0, %1, %2"
          : "=&r"(most)
          : "r"(a), "r"(b));
    return most;
}

/** The smaller of each two signed bytes. */
static inline uint32_t tinyrt_min_bytes(uint32_t a, uint32_t b) {
    uint32_t least;
    __asm("ssub8 %0, %1, %2\n"
          "sel %0, %2, %1"
          : "=&r"(least)
          : "r"(a), "r"(b));
    return least;
}

/** round(a * b / 2^32), halves towards +infinity. */
static inline int32_t tinyrt_high_mul(int32_t a, int32_t b) {
    int32_t high;
    __asm("smmulr %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
    return high;
}

/** value limited to an int8's range. */
static inline int32_t tinyrt_saturate(int32_t value) {
    int32_t limited;
    __asm("ssat %0, #8, %1" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

/** value limited to an int16's range. */
static inline int32_t tinyrt_saturate_s16(int32_t value) {
    int32_t limited;
    __asm("ssat %0, #16, %1" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

#endif
