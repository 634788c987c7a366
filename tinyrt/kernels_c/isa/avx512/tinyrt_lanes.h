/** Sixteen int32 lanes in one register, with VNNI's products of bytes. */
#ifndef TINYRT_LANES_H
#define TINYRT_LANES_H

#include <immintrin.h>

#include "tinyrt_types.h"

#define TINYRT_LANES 16

/** Blocks of sums that stay in registers: name, pixels, vectors of channels. */
#define TINYRT_TILES(TILE)                                                                         \
    TILE(quad, 6, 4)                                                                               \
    TILE(pair, 8, 2)                                                                               \
    TILE(octet, 3, 8) TILE(column, 10, 1) TILE(row, 1, 8) TILE(two, 1, 2) TILE(single, 1, 1)
/** Those of a single vector that take eight bytes to a step: name, pixels. */
#define TINYRT_TILES_OF_EIGHTS(TILE) TILE(eights, 8)
#define TINYRT_MAX_PIXELS 10
#define TINYRT_MAX_VECTORS 8

typedef __m512i tinyrt_lanes;

static inline tinyrt_lanes tinyrt_load_lanes(const void *at) {
    return _mm512_loadu_si512(at);
}

static inline tinyrt_lanes tinyrt_set_lanes(int32_t value) {
    return _mm512_set1_epi32(value);
}

/** Eight bytes in each pair of lanes. */
static inline tinyrt_lanes tinyrt_set_pairs(int64_t value) {
    return _mm512_set1_epi64(value);
}

/** Sums of neighbouring lanes, first those of a. */
static inline tinyrt_lanes tinyrt_add_pairs(tinyrt_lanes a, tinyrt_lanes b) {
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return _mm512_add_epi32(_mm512_permutex2var_epi32(a, even, b),
                            _mm512_permutex2var_epi32(a, odd, b));
}

/** acc + the sum of four products, in each lane: unsigned bytes of x, signed ones of w. */
static inline tinyrt_lanes tinyrt_dot4(tinyrt_lanes acc, tinyrt_lanes x, tinyrt_lanes w) {
    return _mm512_dpbusd_epi32(acc, x, w);
}

/** Four vectors of sixteen bytes, one behind the other. */
static inline tinyrt_lanes tinyrt_join_lanes(__m128i first, __m128i second, __m128i third,
                                             __m128i fourth) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(third), fourth, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

#ifdef __AVX512VBMI__
#define TINYRT_INTERLEAVES_LANES

/** Four vectors of sixteen bytes as lanes of four bytes, one from each. */
static inline tinyrt_lanes tinyrt_interleave_lanes(__m128i a, __m128i b, __m128i c, __m128i d) {
    const __m512i by_column = _mm512_set_epi8(
        63, 47, 31, 15, 62, 46, 30, 14, 61, 45, 29, 13, 60, 44, 28, 12, 59, 43, 27, 11, 58, 42, 26,
        10, 57, 41, 25, 9, 56, 40, 24, 8, 55, 39, 23, 7, 54, 38, 22, 6, 53, 37, 21, 5, 52, 36, 20,
        4, 51, 35, 19, 3, 50, 34, 18, 2, 49, 33, 17, 1, 48, 32, 16, 0);
    return _mm512_permutexvar_epi8(by_column, tinyrt_join_lanes(a, b, c, d));
}

#endif

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

/** The upper 32 of 64 bits of a * mult + addend; even lanes and odd ones have addends of their own.
 */
static inline tinyrt_lanes tinyrt_upper_lanes(tinyrt_lanes a, tinyrt_lanes mult, tinyrt_lanes even,
                                              tinyrt_lanes odd) {
    const __m512i evens = _mm512_add_epi64(_mm512_mul_epi32(a, mult), even);
    const __m512i a_odd = _mm512_srli_epi64(a, 32);
    const __m512i mult_odd = _mm512_srli_epi64(mult, 32);
    const __m512i odds = _mm512_add_epi64(_mm512_mul_epi32(a_odd, mult_odd), odd);
    return _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(evens, 32), odds);
}

/** a >> right, rounded down; for each lane's own right. */
static inline tinyrt_lanes tinyrt_shift_lanes(tinyrt_lanes a, tinyrt_lanes right) {
    return _mm512_srav_epi32(a, right);
}

/** -1 where a is negative, else 0. */
static inline tinyrt_lanes tinyrt_sign_lanes(tinyrt_lanes a) {
    return _mm512_srai_epi32(a, 31);
}

static inline tinyrt_lanes tinyrt_clamp_lanes(tinyrt_lanes a, tinyrt_lanes low, tinyrt_lanes high) {
    return _mm512_min_epi32(_mm512_max_epi32(a, low), high);
}

static inline void tinyrt_store_octets(__m128i bytes, int8_t *y, int32_t count) {
    if (count >= TINYRT_LANES) {
        _mm_storeu_si128((__m128i *)(void *)y, bytes);
    } else {
        _mm_mask_storeu_epi8(y, (__mmask16)((1U << count) - 1U), bytes);
    }
}

/** Store the first lanes, all of which int8 holds: count of them, or all where it is more. */
static inline void tinyrt_store_lanes(tinyrt_lanes a, int8_t *y, int32_t count) {
    tinyrt_store_octets(_mm512_cvtepi32_epi8(a), y, count);
}

/** The same of the nearest int8. */
static inline void tinyrt_saturate_lanes(tinyrt_lanes a, int8_t *y, int32_t count) {
    tinyrt_store_octets(_mm512_cvtsepi32_epi8(a), y, count);
}

#endif
