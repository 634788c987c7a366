/** Steps of requantisation for cores without dual multiplies. */
#ifndef TINYRT_SIMD_H
#define TINYRT_SIMD_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_types.h"

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1

#ifdef TINYRT_ASM

/** As below; a shift by 16 bits leaves the half in the carry, which the last addition takes in. */
static inline int32_t tinyrt_high_mul(int32_t a, int32_t b) {
    int32_t a_low, b_low, b_high, middle;
    __asm(".syntax unified\n"
          "sxth %[a_low], %[a]\n"
          "subs %[a], %[a], %[a_low]\n"
          "asrs %[a], %[a], #16\n"
          "uxth %[b_low], %[b]\n"
          "asrs %[b_high], %[b], #16\n"
          "movs %[middle], %[a_low]\n"
          "muls %[middle], %[b_low], %[middle]\n"
          "asrs %[middle], %[middle], #16\n"
          "muls %[a_low], %[b_high], %[a_low]\n"
          "adds %[middle], %[middle], %[a_low]\n"
          "muls %[b_low], %[a], %[b_low]\n"
          "adds %[middle], %[middle], %[b_low]\n"
          "muls %[a], %[b_high], %[a]\n"
          "asrs %[middle], %[middle], #16\n"
          "adcs %[a], %[middle]\n"
          : [a] "+&l"(a), [a_low] "=&l"(a_low), [b_low] "=&l"(b_low), [b_high] "=&l"(b_high),
            [middle] "=&l"(middle)
          : [b] "l"(b)
          : "cc");
    return a;
}

#else

/** round(a * b / 2^32), halves towards +infinity, from products of halves: there is no long
 *  multiplication. Requires: |a| < 2^30, 0 <= b < 2^31. */
static inline int32_t tinyrt_high_mul(int32_t a, int32_t b) {
    const int32_t a_low = (int16_t)a;
    const int32_t a_high = (a - a_low) >> 16;
    const int32_t b_low = b & 0xFFFF;
    const int32_t b_high = b >> 16;
    const int32_t middle = (a_high * b_low) + (a_low * b_high) + ((a_low * b_low) >> 16);
    return (a_high * b_high) + ((middle + (1 << 15)) >> 16);
}

#endif

/** acc + a * b / 2^32, rounded down, from products of halves, for any a. Requires: b >= 0. */
static inline int32_t tinyrt_add_floored_mul(int32_t a, int32_t b, int32_t acc) {
    const int32_t a_low = a & 0xFFFF;
    const int32_t a_high = a >> 16;
    const int32_t b_low = b & 0xFFFF;
    const int32_t b_high = b >> 16;
    const int32_t other = a_high * b_low;
    const uint32_t middle = ((uint32_t)a_low * (uint32_t)b_low >> 16) + (uint32_t)(a_low * b_high) +
                            ((uint32_t)other & 0xFFFFu);
    return acc + (a_high * b_high) + (other >> 16) + (int32_t)(middle >> 16);
}

#else

/** round(a * b / 2^32), halves towards +infinity. Requires: |a| < 2^30, 0 <= b < 2^31. */
static inline int32_t tinyrt_high_mul(int32_t a, int32_t b) {
    const int64_t product = (int64_t)a * b;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
}

/** acc + a * b / 2^32, rounded down. */
static inline int32_t tinyrt_add_floored_mul(int32_t a, int32_t b, int32_t acc) {
    return acc + (int32_t)(((int64_t)a * b) >> 32);
}

#endif

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 2 && defined(TINYRT_ASM)

/** value limited to an int8's range. */
static inline int32_t tinyrt_saturate(int32_t value) {
    int32_t limited;
    __asm("ssat %0, #8, %1" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

/** value / 2^16, rounded down and limited to [0, 255]. */
static inline uint32_t tinyrt_limit_upper(uint32_t value) {
    uint32_t limited;
    __asm("usat %0, #8, %1, asr #16" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

/** value limited to an int16's range. */
static inline int32_t tinyrt_saturate_s16(int32_t value) {
    int32_t limited;
    __asm("ssat %0, #16, %1" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

/** value / 2^16, rounded down and limited to an int8's range. */
static inline int32_t tinyrt_saturate_upper(int32_t value) {
    int32_t limited;
    __asm("ssat %0, #8, %1, asr #16" : "=r"(limited) : "r"(value) : "cc");
    return limited;
}

#else

static inline int32_t tinyrt_saturate(int32_t value) {
#if defined(__ARM_ARCH_ISA_THUMB)
    const int32_t byte = (int8_t)(uint8_t)((uint32_t)value & 0xFFU);
    return (byte == value) ? value : ((value >> 31) ^ INT8_MAX);
#else
    if (value < INT8_MIN) {
        return INT8_MIN;
    }
    return (value > INT8_MAX) ? INT8_MAX : value;
#endif
}

static inline int32_t tinyrt_saturate_upper(int32_t value) {
    return tinyrt_saturate(value >> 16);
}

static inline uint32_t tinyrt_limit_upper(uint32_t value) {
    const int32_t upper = (int32_t)value >> 16;
    if (upper < 0) {
        return 0;
    }
    return (upper > UINT8_MAX) ? (uint32_t)UINT8_MAX : (uint32_t)upper;
}

static inline int32_t tinyrt_saturate_s16(int32_t value) {
    if (value < INT16_MIN) {
        return INT16_MIN;
    }
    return (value > INT16_MAX) ? INT16_MAX : value;
}

#endif

/** Four words, 2^16 times as large, rounded down and limited to [0, 255], as bytes. */
static inline uint32_t tinyrt_limit_four(uint32_t first, uint32_t second, uint32_t third,
                                         uint32_t fourth) {
    return tinyrt_limit_upper(first) | tinyrt_limit_upper(second) << 8 |
           tinyrt_limit_upper(third) << 16 | tinyrt_limit_upper(fourth) << 24;
}

/** round(2 * a * b / 2^32), halves towards +infinity. Requires: |a| <= 2^30, 0 <= b < 2^31. */
static inline int32_t tinyrt_doubling_high_mul(int32_t a, int32_t b) {
    return tinyrt_rounding_doubling_high_mul(a, b);
}

/** acc + round(2 * a * b / 2^32), halves towards +infinity. Likewise. */
static inline int32_t tinyrt_add_doubling_high_mul(int32_t a, int32_t b, int32_t acc) {
    return acc + tinyrt_doubling_high_mul(a, b);
}

/** acc + round(x * b / 2^16), halves towards +infinity, of an int16. Requires: b >= 0. */
static inline int32_t tinyrt_add_half_mul(int32_t x, int32_t b, int32_t acc) {
    return acc + (x * (b >> 16)) + (((x * (b & 0xFFFF)) + (1 << 15)) >> 16);
}

#endif
