/** The larger and the smaller of 16-bit halves: in assembly for GCC, by the intrinsics of Arm's C
 * language extensions for other compilers, in C for other machines. */
#ifndef TINYRT_EXTREME_PAIRS_H
#define TINYRT_EXTREME_PAIRS_H

#include "tinyrt_halves.h"

#if defined(TINYRT_ASM_DSP)

/** The larger of each two signed halves. */
static inline uint32_t tinyrt_max_pairs(uint32_t a, uint32_t b) {
    uint32_t most;
    __asm("ssub16 %0, %1, %2\n"
          "sel %0, %1, %2"
          : "=&r"(most)
          : "r"(a), "r"(b));
    return most;
}

/** The smaller of each two signed halves. */
static inline uint32_t tinyrt_min_pairs(uint32_t a, uint32_t b) {
    uint32_t least;
    __asm("ssub16 %0, %1, %2\n"
          "sel %0, %2, %1"
          : "=&r"(least)
          : "r"(a), "r"(b));
    return least;
}

/** Both signed halves, 0 for one that is below. */
static inline uint32_t tinyrt_above_zero(uint32_t pair) {
    uint32_t limited;
    __asm("usat16 %0, #15, %1" : "=r"(limited) : "r"(pair) : "cc");
    return limited;
}

#elif defined(TINYRT_ACLE_DSP)

/* In GCC's header some are macros that convert signs. */
#ifndef __ICCARM__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

/** The difference sets flags by which the second instruction selects. */
static inline uint32_t tinyrt_max_pairs(uint32_t a, uint32_t b) {
    (void)__ssub16((int32_t)a, (int32_t)b);
    return (uint32_t)__sel(a, b);
}

static inline uint32_t tinyrt_min_pairs(uint32_t a, uint32_t b) {
    (void)__ssub16((int32_t)a, (int32_t)b);
    return (uint32_t)__sel(b, a);
}

static inline uint32_t tinyrt_above_zero(uint32_t pair) {
    return (uint32_t)__usat16((int32_t)pair, 15);
}

#ifndef __ICCARM__
#pragma GCC diagnostic pop
#endif

#else

static inline uint32_t tinyrt_max_pairs(uint32_t a, uint32_t b) {
    const int32_t low = (tinyrt_low(a) > tinyrt_low(b)) ? tinyrt_low(a) : tinyrt_low(b);
    const int32_t high = (tinyrt_high(a) > tinyrt_high(b)) ? tinyrt_high(a) : tinyrt_high(b);
    return tinyrt_pair(low, high);
}

static inline uint32_t tinyrt_min_pairs(uint32_t a, uint32_t b) {
    return ~tinyrt_max_pairs(~a, ~b);
}

static inline uint32_t tinyrt_above_zero(uint32_t pair) {
    return tinyrt_max_pairs(pair, 0);
}

#endif

#endif
