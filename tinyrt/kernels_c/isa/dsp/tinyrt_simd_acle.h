/** Instructions on pairs of 16-bit halves by intrinsics, included by tinyrt_simd.h. */
#ifndef TINYRT_SIMD_ACLE_H
#define TINYRT_SIMD_ACLE_H

#include "tinyrt_types.h"

#ifdef TINYRT_ACLE_DSP

/* In GCC's header some are macros that convert signs. */
#ifndef __ICCARM__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

static inline uint32_t tinyrt_even_bytes(uint32_t word) {
    return (uint32_t)__sxtb16((int32_t)word);
}

/** Rotated, which the instruction does by itself. */
static inline uint32_t tinyrt_odd_bytes(uint32_t word) {
    return (uint32_t)__sxtb16((int32_t)(word >> 8 | word << 24));
}

static inline uint32_t tinyrt_add_even_bytes(uint32_t pair, uint32_t word) {
    return (uint32_t)__sxtab16((int32_t)pair, (int32_t)word);
}

static inline uint32_t tinyrt_add_odd_bytes(uint32_t pair, uint32_t word) {
    return (uint32_t)__sxtab16((int32_t)pair, (int32_t)(word >> 8 | word << 24));
}

static inline int32_t tinyrt_dot_pair(uint32_t a, uint32_t b, int32_t acc) {
    return __smlad((int32_t)a, (int32_t)b, acc);
}

static inline int32_t tinyrt_add_low_low(uint32_t a, uint32_t b, int32_t acc) {
    return __smlabb((int32_t)a, (int32_t)b, acc);
}

static inline int32_t tinyrt_add_low_high(uint32_t a, uint32_t b, int32_t acc) {
    return __smlabt((int32_t)a, (int32_t)b, acc);
}

static inline int32_t tinyrt_add_scaled_low(int32_t factor, uint32_t pair, int32_t acc) {
    return __smlawb(factor, (int32_t)pair, acc);
}

static inline int32_t tinyrt_add_scaled_high(int32_t factor, uint32_t pair, int32_t acc) {
    return __smlawt(factor, (int32_t)pair, acc);
}

static inline uint32_t tinyrt_add_pairs(uint32_t a, uint32_t b) {
    return (uint32_t)__sadd16((int32_t)a, (int32_t)b);
}

static inline uint32_t tinyrt_subtract_pairs(uint32_t a, uint32_t b) {
    return (uint32_t)__ssub16((int32_t)a, (int32_t)b);
}

/** The difference sets flags by which the second instruction selects. */
static inline uint32_t tinyrt_max_bytes(uint32_t a, uint32_t b) {
    (void)__ssub8((int32_t)a, (int32_t)b);
    return (uint32_t)__sel(a, b);
}

static inline uint32_t tinyrt_min_bytes(uint32_t a, uint32_t b) {
    (void)__ssub8((int32_t)a, (int32_t)b);
    return (uint32_t)__sel(b, a);
}

static inline uint32_t tinyrt_limit_pair(uint32_t pair) {
    return (uint32_t)__usat16((int32_t)pair, 8);
}

static inline uint32_t tinyrt_limit_shifted(int32_t value) {
    return (uint32_t)__usat(value >> 21, 8);
}

static inline int32_t tinyrt_saturate(int32_t value) {
    return __ssat(value, 8);
}

static inline int32_t tinyrt_saturate_s16(int32_t value) {
    return __ssat(value, 16);
}

#ifndef __ICCARM__
#pragma GCC diagnostic pop
#endif

#endif

#endif
