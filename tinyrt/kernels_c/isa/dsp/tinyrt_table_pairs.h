/** Steps of functions by tables, on pairs of int16: in assembly for GCC, else in C. */
#ifndef TINYRT_TABLE_PAIRS_H
#define TINYRT_TABLE_PAIRS_H

#include "tinyrt_simd.h"

#ifdef TINYRT_ASM_DSP

/** The low half of the first word and the high half of the second. */
static inline uint32_t tinyrt_low_and_high(uint32_t first, uint32_t second) {
    uint32_t pair;
    __asm("pkhbt %0, %1, %2" : "=r"(pair) : "r"(first), "r"(second));
    return pair;
}

/** The high half of a pair, and value / 2^15, rounded down, as its low half. */
static inline uint32_t tinyrt_low_of_15(uint32_t pair, int32_t value) {
    uint32_t changed;
    __asm("pkhtb %0, %1, %2, asr #15" : "=r"(changed) : "r"(pair), "r"(value));
    return changed;
}

/** The low half of a pair, and value / 2^15, rounded down, as its high half. */
static inline uint32_t tinyrt_high_of_15(uint32_t pair, int32_t value) {
    uint32_t changed;
    __asm("pkhbt %0, %1, %2, lsl #1" : "=r"(changed) : "r"(pair), "r"(value));
    return changed;
}

/** The low half of a pair, and value / 2^14, rounded down, as its high half. */
static inline uint32_t tinyrt_high_of_14(uint32_t pair, int32_t value) {
    uint32_t changed;
    __asm("pkhbt %0, %1, %2, lsl #2" : "=r"(changed) : "r"(pair), "r"(value));
    return changed;
}

/** acc + a * b in one instruction, also where b is constant. */
static inline int32_t tinyrt_add_product(int32_t a, int32_t b, int32_t acc) {
    int32_t sum;
    __asm("mla %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(acc));
    return sum;
}

/** A number that is not to be written into instructions. */
static inline int32_t tinyrt_in_register(int32_t number) {
    __asm("" : "+r"(number));
    return number;
}

/** value / 2^14, rounded down and limited to an int16's range. */
static inline int32_t tinyrt_saturate_14(int32_t value) {
    int32_t limited;
    __asm("ssat %0, #16, %1, asr #14" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

/** value limited to [0, 2^17). */
static inline int32_t tinyrt_limit_17(int32_t value) {
    int32_t limited;
    __asm("usat %0, #17, %1" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

/** value limited to [0, 2^16). */
static inline int32_t tinyrt_limit_16(int32_t value) {
    int32_t limited;
    __asm("usat %0, #16, %1" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

#else

static inline uint32_t tinyrt_low_and_high(uint32_t first, uint32_t second) {
    return (first & 0xFFFFU) | (second & 0xFFFF0000U);
}

static inline uint32_t tinyrt_low_of_15(uint32_t pair, int32_t value) {
    return (pair & 0xFFFF0000U) | (((uint32_t)value >> 15) & 0xFFFFU);
}

static inline uint32_t tinyrt_high_of_15(uint32_t pair, int32_t value) {
    return tinyrt_low_and_high(pair, (uint32_t)value << 1);
}

static inline uint32_t tinyrt_high_of_14(uint32_t pair, int32_t value) {
    return tinyrt_low_and_high(pair, (uint32_t)value << 2);
}

static inline int32_t tinyrt_saturate_14(int32_t value) {
    return tinyrt_saturate_s16(value >> 14);
}

static inline int32_t tinyrt_add_product(int32_t a, int32_t b, int32_t acc) {
    return (int32_t)(((uint32_t)a * (uint32_t)b) + (uint32_t)acc);
}

static inline int32_t tinyrt_in_register(int32_t number) {
    return number;
}

static inline int32_t tinyrt_limit_17(int32_t value) {
    const int32_t above = (value < 0) ? 0 : value;
    return (above >= (1 << 17)) ? ((1 << 17) - 1) : above;
}

static inline int32_t tinyrt_limit_16(int32_t value) {
    const int32_t above = (value < 0) ? 0 : value;
    return (above > UINT16_MAX) ? UINT16_MAX : above;
}

#endif

#endif
