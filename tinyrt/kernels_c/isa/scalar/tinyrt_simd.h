/** Steps of requantisation for cores without dual multiplies. */
#ifndef TINYRT_SIMD_H
#define TINYRT_SIMD_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_types.h"

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1

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

#else

/** round(a * b / 2^32), halves towards +infinity. Requires: |a| < 2^30, 0 <= b < 2^31. */
static inline int32_t tinyrt_high_mul(int32_t a, int32_t b) {
    const int64_t product = (int64_t)a * b;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
}

#endif

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 2 && defined(TINYRT_ASM)

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

#else

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

/** round(2 * a * b / 2^32), halves towards +infinity. Requires: |a| <= 2^30, 0 <= b < 2^31. */
static inline int32_t tinyrt_doubling_high_mul(int32_t a, int32_t b) {
    return tinyrt_rounding_doubling_high_mul(a, b);
}

#endif
