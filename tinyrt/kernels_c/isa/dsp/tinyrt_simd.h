/** Instructions on pairs of 16-bit halves, each with a twin in C for compilers of other machines.
 */
#ifndef TINYRT_SIMD_H
#define TINYRT_SIMD_H

#include <string.h>

#include "tinyrt_types.h"

/** The four bytes at any address, as a little-endian word. */
static inline uint32_t tinyrt_load_word(const void *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline void tinyrt_store_word(void *bytes, uint32_t word) {
    memcpy(bytes, &word, sizeof word);
}

static inline int32_t tinyrt_low(uint32_t word) {
    return (int16_t)(uint16_t)word;
}

static inline int32_t tinyrt_high(uint32_t word) {
    return (int16_t)(uint16_t)(word >> 16);
}

static inline uint32_t tinyrt_pair(int32_t low, int32_t high) {
    return (uint32_t)(uint16_t)low | (uint32_t)high << 16;
}

#if defined(__ARM_FEATURE_DSP) && defined(TINYRT_ASM)

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

#else

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

static inline uint32_t tinyrt_low_halves(uint32_t first, uint32_t second) {
    return (first & UINT32_C(0xFFFF)) | second << 16;
}

static inline uint32_t tinyrt_high_halves(uint32_t first, uint32_t second) {
    return first >> 16 | (second & UINT32_C(0xFFFF0000));
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

/** Of each two bytes the one of a where it is larger, else that of b. */
static inline uint32_t tinyrt_max_bytes(uint32_t a, uint32_t b) {
    uint32_t most = 0;
    for (int32_t i = 0; i < 32; i += 8) {
        const int8_t from_a = (int8_t)(uint8_t)(a >> i);
        const int8_t from_b = (int8_t)(uint8_t)(b >> i);
        most |= (uint32_t)(uint8_t)(from_a >= from_b ? from_a : from_b) << i;
    }
    return most;
}

static inline uint32_t tinyrt_min_bytes(uint32_t a, uint32_t b) {
    return ~tinyrt_max_bytes(~a, ~b);
}

static inline int32_t tinyrt_high_mul(int32_t a, int32_t b) {
    return (int32_t)(((int64_t)a * b + (INT64_C(1) << 31)) >> 32);
}

static inline int32_t tinyrt_add_high_mul(int32_t a, int32_t b, int32_t acc) {
    return acc + tinyrt_high_mul(a, b);
}

static inline int32_t tinyrt_saturate(int32_t value) {
    if (value < INT8_MIN) {
        return INT8_MIN;
    }
    return value > INT8_MAX ? INT8_MAX : value;
}

#endif

/** The byte value in all four places. */
static inline uint32_t tinyrt_four_times(int32_t value) {
    return UINT32_C(0x01010101) * (uint8_t)value;
}

#endif
