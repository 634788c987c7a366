/** Sixteen int32 lanes in one register, with VNNI's products of bytes. */
#ifndef TINYRT_LANES_H
#define TINYRT_LANES_H

#include <immintrin.h>

#include "tinyrt_types.h"

#define TINYRT_LANES 16

/** Blocks of sums that stay in registers: pixels x vectors, and vectors of a single pixel. */
#define TINYRT_TILE_PIXELS 8
#define TINYRT_TILE_VECTORS 2
#define TINYRT_COLUMN_PIXELS 16
#define TINYRT_ROW_VECTORS 8

typedef __m512i tinyrt_lanes;

static inline tinyrt_lanes tinyrt_load_lanes(const void *at) {
    return _mm512_loadu_si512(at);
}

static inline tinyrt_lanes tinyrt_set_lanes(int32_t value) {
    return _mm512_set1_epi32(value);
}

/** acc + the sum of four products, in each lane: unsigned bytes of x, signed ones of w. */
static inline tinyrt_lanes tinyrt_dot4(tinyrt_lanes acc, tinyrt_lanes x, tinyrt_lanes w) {
    return _mm512_dpbusd_epi32(acc, x, w);
}

/** Four vectors of sixteen bytes as lanes of four bytes, one from each. */
static inline tinyrt_lanes tinyrt_join_lanes(__m128i first, __m128i second, __m128i third,
                                             __m128i fourth) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(third), fourth, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

static inline tinyrt_lanes tinyrt_add_lanes(tinyrt_lanes a, tinyrt_lanes b) {
    return _mm512_add_epi32(a, b);
}

static inline tinyrt_lanes tinyrt_sub_lanes(tinyrt_lanes a, tinyrt_lanes b) {
    return _mm512_sub_epi32(a, b);
}

static inline tinyrt_lanes tinyrt_mul_lanes(tinyrt_lanes a, tinyrt_lanes b) {
    return _mm512_mullo_epi32(a, b);
}

/** Sixteen int8 as lanes. */
static inline tinyrt_lanes tinyrt_widen_lanes(const int8_t *x) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)x));
}

/** Sixteen unsigned bytes as lanes. */
static inline tinyrt_lanes tinyrt_widen_bytes(const uint8_t *x) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)x));
}

/** a << left, for each lane's own left. */
static inline tinyrt_lanes tinyrt_raise_lanes(tinyrt_lanes a, tinyrt_lanes left) {
    return _mm512_sllv_epi32(a, left);
}

/** The high half of 2 * a * mult, rounded. */
static inline tinyrt_lanes tinyrt_high_lanes(tinyrt_lanes a, tinyrt_lanes mult) {
    const __m512i half = _mm512_set1_epi64(1LL << 30);
    const __m512i evens = _mm512_add_epi64(_mm512_mul_epi32(a, mult), half);
    const __m512i a_odd = _mm512_srli_epi64(a, 32);
    const __m512i mult_odd = _mm512_srli_epi64(mult, 32);
    const __m512i odds = _mm512_add_epi64(_mm512_mul_epi32(a_odd, mult_odd), half);
    return _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(evens, 31),
                                   _mm512_slli_epi64(odds, 1));
}

/** a >> right, rounded, halves away from zero; for each lane's own right. */
static inline tinyrt_lanes tinyrt_lower_lanes(tinyrt_lanes a, tinyrt_lanes right) {
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i mask = _mm512_sub_epi32(_mm512_sllv_epi32(one, right), one);
    const __m512i limit = _mm512_sub_epi32(_mm512_srli_epi32(mask, 1), _mm512_srai_epi32(a, 31));
    const __mmask16 up = _mm512_cmpgt_epi32_mask(_mm512_and_si512(a, mask), limit);
    const __m512i down = _mm512_srav_epi32(a, right);
    return _mm512_mask_add_epi32(down, up, down, one);
}

static inline tinyrt_lanes tinyrt_clamp_lanes(tinyrt_lanes a, tinyrt_lanes low, tinyrt_lanes high) {
    return _mm512_min_epi32(_mm512_max_epi32(a, low), high);
}

/** Store the first lanes, all of which int8 holds: count of them, or all where it is more. */
static inline void tinyrt_store_lanes(tinyrt_lanes a, int8_t *y, int32_t count) {
    const __m128i bytes = _mm512_cvtepi32_epi8(a);
    if (count >= TINYRT_LANES) {
        _mm_storeu_si128((__m128i *)(void *)y, bytes);
    } else {
        _mm_mask_storeu_epi8(y, (__mmask16)((1U << count) - 1U), bytes);
    }
}

#endif
