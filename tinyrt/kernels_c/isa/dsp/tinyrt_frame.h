/** The first steps of a front end's frame, on pairs of samples. */
#ifndef TINYRT_FRAME_H
#define TINYRT_FRAME_H

#include "tinyrt_simd.h"

#ifdef TINYRT_ASM_DSP

/** Products of a pair of samples and a pair of weights, divided by 2^12. */
static inline uint32_t tinyrt_weighted(uint32_t x, uint32_t w) {
    int32_t low;
    int32_t high;
    uint32_t y;
    __asm("smulbb %0, %1, %2" : "=r"(low) : "r"(x), "r"(w));
    __asm("smultt %0, %1, %2" : "=r"(high) : "r"(x), "r"(w));
    __asm("pkhbt %0, %1, %2, lsl #4" : "=r"(y) : "r"(low >> 12), "r"(high));
    return y;
}

/** Sizes of both halves; that of -32768 is as it is. */
static inline uint32_t tinyrt_sizes(uint32_t pair) {
    uint32_t y;
    __asm("ssub16 %0, %1, %2\n"
          "sel %0, %0, %2"
          : "=&r"(y)
          : "r"(0), "r"(pair)
          : "cc");
    return y;
}

/** The lower half of the first, the upper half of the second. */
static inline uint32_t tinyrt_low_and_high(uint32_t first, uint32_t second) {
    uint32_t y;
    __asm("pkhbt %0, %1, %2" : "=r"(y) : "r"(first), "r"(second));
    return y;
}

#else

#ifdef TINYRT_ACLE_DSP

/* In GCC's header some are macros that convert signs. */
#ifndef __ICCARM__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

static inline uint32_t tinyrt_weighted(uint32_t x, uint32_t w) {
    const int32_t low = __smlabb((int32_t)x, (int32_t)w, 0);
    const int32_t high = __smlatt((int32_t)x, (int32_t)w, 0);
    return ((uint32_t)(low >> 12) & 0xFFFFU) | (uint32_t)(high >> 12) << 16;
}

/** The difference sets flags by which the second instruction selects. */
static inline uint32_t tinyrt_sizes(uint32_t pair) {
    const uint32_t negative = (uint32_t)__ssub16(0, (int32_t)pair);
    return (uint32_t)__sel(negative, pair);
}

#ifndef __ICCARM__
#pragma GCC diagnostic pop
#endif

#else

static inline uint32_t tinyrt_weighted(uint32_t x, uint32_t w) {
    return tinyrt_pair((tinyrt_low(x) * tinyrt_low(w)) >> 12,
                       (tinyrt_high(x) * tinyrt_high(w)) >> 12);
}

static inline uint32_t tinyrt_sizes(uint32_t pair) {
    const int32_t low = tinyrt_low(pair);
    const int32_t high = tinyrt_high(pair);
    return tinyrt_pair(low < 0 ? -low : low, high < 0 ? -high : high);
}

#endif

static inline uint32_t tinyrt_low_and_high(uint32_t first, uint32_t second) {
    return (first & 0xFFFFU) | (second & 0xFFFF0000U);
}

#endif

/** y = x * w / 2^12, rounded down, of w in [0, 2^12]. Returns a number with as many bits as the
 *  largest size; that of -32768, which an int16 does not hold, does not count. */
static inline uint32_t tinyrt_windowed(int32_t size, const int16_t *x, const int16_t *w,
                                       int16_t *y) {
    const int32_t last = size - 1;
    uint32_t sizes = 0;
    for (int32_t i = 0; i < last; i += 2) {
        const uint32_t pair = tinyrt_weighted(tinyrt_load_word(x + i), tinyrt_load_word(w + i));
        sizes |= tinyrt_sizes(pair);
        tinyrt_store_word(y + i, pair);
    }
    if ((size & 1) != 0) {
        const uint32_t one = tinyrt_weighted((uint16_t)x[last], (uint16_t)w[last]);
        sizes |= tinyrt_sizes(one);
        y[last] = (int16_t)(uint16_t)one;
    }
    return (sizes | (sizes >> 16)) & INT16_MAX;
}

/** y = y * 2^shift, modulo 2^16. */
static inline void tinyrt_shifted_left(int32_t size, int32_t shift, int16_t *y) {
    for (int32_t i = 0; (i + 1) < size; i += 2) {
        const uint32_t pair = tinyrt_load_word(y + i);
        const uint32_t high = (pair & 0xFFFF0000U) << shift;
        tinyrt_store_word(y + i, tinyrt_low_and_high(pair << shift, high));
    }
    if ((size & 1) != 0) {
        y[size - 1] = (int16_t)(uint16_t)((uint32_t)y[size - 1] << shift);
    }
}

#endif
