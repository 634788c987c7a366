/** Complex numbers of int16 in a word, the real part in its lower half: in assembly, by intrinsics
 * or in C, as tinyrt_simd.h has it. */
#ifndef TINYRT_COMPLEX_S16_H
#define TINYRT_COMPLEX_S16_H

#include "tinyrt_simd.h"

#ifdef TINYRT_ASM_DSP

/** Defines name(a, b) as an instruction on two words. */
#define TINYRT_OF_WORDS(name, instruction)                                                         \
    static inline uint32_t name(uint32_t a, uint32_t b) {                                          \
        uint32_t y;                                                                                \
        __asm(instruction " %0, %1, %2" : "=r"(y) : "r"(a), "r"(b) : "cc");                        \
        return y;                                                                                  \
    }

/** a - b. */
TINYRT_OF_WORDS(tinyrt_sub_pairs, "ssub16")
/** a - i * b. */
TINYRT_OF_WORDS(tinyrt_sub_turned, "ssax")
/** a + i * b. */
TINYRT_OF_WORDS(tinyrt_add_turned, "sasx")
/** (a + b) / 2 and (a - b) / 2, of sums that halves need not hold, rounded down. */
TINYRT_OF_WORDS(tinyrt_half_sum, "shadd16")
TINYRT_OF_WORDS(tinyrt_half_difference, "shsub16")

#undef TINYRT_OF_WORDS

/** Defines name(a, b, acc) as an instruction on two words that adds to a third one. */
#define TINYRT_TO_SUM(name, instruction)                                                           \
    static inline int32_t name(uint32_t a, uint32_t b, int32_t acc) {                              \
        int32_t y;                                                                                 \
        __asm(instruction " %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(acc) : "cc");          \
        return y;                                                                                  \
    }

/** acc + low * low - high * high: the real part of a product. */
TINYRT_TO_SUM(tinyrt_real_part, "smlsd")
/** acc + low * high + high * low: the imaginary part. */
TINYRT_TO_SUM(tinyrt_imaginary_part, "smladx")
/** acc + high * low. */
TINYRT_TO_SUM(tinyrt_add_high_low, "smlatb")

#undef TINYRT_TO_SUM

/** The upper halves of low and high. */
static inline uint32_t tinyrt_uppers(int32_t low, int32_t high) {
    uint32_t y;
    __asm("pkhtb %0, %1, %2, asr #16" : "=r"(y) : "r"(high), "r"(low));
    return y;
}

/** The bits of low and high from the 15th on. */
static inline uint32_t tinyrt_fractions(int32_t low, int32_t high) {
    uint32_t y;
    __asm("pkhbt %0, %1, %2, lsl #1" : "=r"(y) : "r"(low >> 15), "r"(high));
    return y;
}

#else

#ifdef TINYRT_ACLE_DSP

/* In GCC's header some are macros that convert signs. */
#ifndef __ICCARM__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

static inline uint32_t tinyrt_sub_pairs(uint32_t a, uint32_t b) {
    return (uint32_t)__ssub16((int32_t)a, (int32_t)b);
}

static inline uint32_t tinyrt_sub_turned(uint32_t a, uint32_t b) {
    return (uint32_t)__ssax((int32_t)a, (int32_t)b);
}

static inline uint32_t tinyrt_add_turned(uint32_t a, uint32_t b) {
    return (uint32_t)__sasx((int32_t)a, (int32_t)b);
}

static inline uint32_t tinyrt_half_sum(uint32_t a, uint32_t b) {
    return (uint32_t)__shadd16((int32_t)a, (int32_t)b);
}

static inline uint32_t tinyrt_half_difference(uint32_t a, uint32_t b) {
    return (uint32_t)__shsub16((int32_t)a, (int32_t)b);
}

static inline int32_t tinyrt_real_part(uint32_t a, uint32_t b, int32_t acc) {
    return __smlsd((int32_t)a, (int32_t)b, acc);
}

static inline int32_t tinyrt_imaginary_part(uint32_t a, uint32_t b, int32_t acc) {
    return __smladx((int32_t)a, (int32_t)b, acc);
}

static inline int32_t tinyrt_add_high_low(uint32_t a, uint32_t b, int32_t acc) {
    return __smlatb((int32_t)a, (int32_t)b, acc);
}

#ifndef __ICCARM__
#pragma GCC diagnostic pop
#endif

#else

static inline uint32_t tinyrt_sub_pairs(uint32_t a, uint32_t b) {
    return tinyrt_pair(tinyrt_low(a) - tinyrt_low(b), tinyrt_high(a) - tinyrt_high(b));
}

static inline uint32_t tinyrt_sub_turned(uint32_t a, uint32_t b) {
    return tinyrt_pair(tinyrt_low(a) + tinyrt_high(b), tinyrt_high(a) - tinyrt_low(b));
}

static inline uint32_t tinyrt_add_turned(uint32_t a, uint32_t b) {
    return tinyrt_pair(tinyrt_low(a) - tinyrt_high(b), tinyrt_high(a) + tinyrt_low(b));
}

static inline uint32_t tinyrt_half_sum(uint32_t a, uint32_t b) {
    return tinyrt_pair((tinyrt_low(a) + tinyrt_low(b)) >> 1,
                       (tinyrt_high(a) + tinyrt_high(b)) >> 1);
}

static inline uint32_t tinyrt_half_difference(uint32_t a, uint32_t b) {
    return tinyrt_pair((tinyrt_low(a) - tinyrt_low(b)) >> 1,
                       (tinyrt_high(a) - tinyrt_high(b)) >> 1);
}

static inline int32_t tinyrt_real_part(uint32_t a, uint32_t b, int32_t acc) {
    return acc + tinyrt_low(a) * tinyrt_low(b) - tinyrt_high(a) * tinyrt_high(b);
}

static inline int32_t tinyrt_imaginary_part(uint32_t a, uint32_t b, int32_t acc) {
    return acc + tinyrt_low(a) * tinyrt_high(b) + tinyrt_high(a) * tinyrt_low(b);
}

static inline int32_t tinyrt_add_high_low(uint32_t a, uint32_t b, int32_t acc) {
    return acc + tinyrt_high(a) * tinyrt_low(b);
}

#endif

/* Compilers know the instructions from these. */

static inline uint32_t tinyrt_uppers(int32_t low, int32_t high) {
    return ((uint32_t)low >> 16) | ((uint32_t)high & 0xFFFF0000U);
}

static inline uint32_t tinyrt_fractions(int32_t low, int32_t high) {
    return ((uint32_t)(low >> 15) & 0xFFFFU) | (uint32_t)high << 1 >> 16 << 16;
}

#endif

/** z / radix as KISS FFT rounds it: z * factor / 2^16 + 1/2, where factor is 2 * (32767 / radix).
 */
static inline uint32_t tinyrt_divided(uint32_t z, uint32_t factor) {
    return tinyrt_uppers(tinyrt_add_low_low(z, factor, 1 << 15),
                         tinyrt_add_high_low(z, factor, 1 << 15));
}

/** a * w / 2^15 + 1/2. */
static inline uint32_t tinyrt_turned_by(uint32_t a, uint32_t w) {
    return tinyrt_fractions(tinyrt_real_part(a, w, 1 << 14), tinyrt_imaginary_part(a, w, 1 << 14));
}

#endif
