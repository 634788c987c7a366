/** Instructions on pairs of 16-bit halves: in assembly for GCC, by the intrinsics of Arm's C
 * language extensions for other compilers, in C for other machines. What has no intrinsic stands
 * here, in a form that compilers know the instruction from. tinyrt_simd_asm.h says what each one
 * does. */
#ifndef TINYRT_SIMD_H
#define TINYRT_SIMD_H

#include "tinyrt_halves.h"

#ifdef TINYRT_ASM_DSP
#include "tinyrt_simd_asm.h"
#else

#ifdef TINYRT_ACLE_DSP
#include "tinyrt_simd_acle.h"
#else
#include "tinyrt_simd_c.h"
#endif

static inline uint32_t tinyrt_low_halves(uint32_t first, uint32_t second) {
    return (first & 0xFFFFU) | (second << 16);
}

static inline uint32_t tinyrt_high_halves(uint32_t first, uint32_t second) {
    return (first >> 16) | (second & 0xFFFF0000U);
}

static inline int32_t tinyrt_high_mul(int32_t a, int32_t b) {
    const int64_t product = (int64_t)a * b;
#ifdef __clang__
    /* One instruction. */
    return (int32_t)((product + (INT64_C(1) << 31)) >> 32);
#else
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
#endif
}

static inline int32_t tinyrt_add_high_mul(int32_t a, int32_t b, int32_t acc) {
    return acc + tinyrt_high_mul(a, b);
}

static inline int32_t tinyrt_add_sign(int32_t acc, int32_t value) {
    return acc + (value >> 31);
}

static inline int32_t tinyrt_add_floored_mul(int32_t a, int32_t b, int32_t acc) {
    return acc + (int32_t)(((int64_t)a * b) >> 32);
}

#endif

#if defined(TINYRT_ASM_DSP) || defined(__clang__)
/* One instruction less than without; where products take several, one more. */
#define TINYRT_HAS_SIGNED_HIGH_MUL
#endif

/** acc + round(a * b / 2^32), halves towards +infinity, less by 1 where a is negative. */
static inline int32_t tinyrt_signed_high_mul(int32_t a, int32_t b, int32_t acc) {
    return tinyrt_add_high_mul(a, b, tinyrt_add_sign(acc, a));
}

/** round(2 * a * b / 2^32), halves towards +infinity. Requires: |a| < 2^30, or a is that negative.
 */
static inline int32_t tinyrt_doubling_high_mul(int32_t a, int32_t b) {
    return tinyrt_high_mul((int32_t)((uint32_t)a << 1), b);
}

/** acc + round(2 * a * b / 2^32), halves towards +infinity. Likewise. */
static inline int32_t tinyrt_add_doubling_high_mul(int32_t a, int32_t b, int32_t acc) {
    return tinyrt_add_high_mul((int32_t)((uint32_t)a << 1), b, acc);
}

/** acc + round(x * b / 2^16), halves towards +infinity, of an int16. */
static inline int32_t tinyrt_add_half_mul(int32_t x, int32_t b, int32_t acc) {
    return tinyrt_add_high_mul((int32_t)((uint32_t)x << 16), b, acc);
}

/** Four words, 2^16 times as large, rounded down and limited to [0, 255], as bytes. */
static inline uint32_t tinyrt_limit_four(uint32_t first, uint32_t second, uint32_t third,
                                         uint32_t fourth) {
    const uint32_t evens = tinyrt_limit_pair(tinyrt_high_halves(first, third));
    const uint32_t odds = tinyrt_limit_pair(tinyrt_high_halves(second, fourth));
    return evens | odds << 8;
}

/** The byte value in all four places. */
static inline uint32_t tinyrt_four_times(int32_t value) {
    return 0x01010101U * (uint8_t)value;
}

#endif
