/** The high half of a product that is taken off, for products whose double no register holds. */
#ifndef TINYRT_LESS_HIGH_MUL_H
#define TINYRT_LESS_HIGH_MUL_H

#include "tinyrt_simd.h"

/** acc - a * b / 2^32, halves towards +infinity. */
static inline int32_t tinyrt_less_high_mul(int32_t a, int32_t b, int32_t acc) {
#ifdef TINYRT_ASM_DSP
    int32_t difference;
    __asm("smmlsr %0, %1, %2, %3" : "=r"(difference) : "r"(a), "r"(b), "r"(acc));
    return difference;
#else
    const int64_t product = (int64_t)a * b;
    return acc + (int32_t)(((INT64_C(1) << 31) - product) >> 32);
#endif
}

#endif
