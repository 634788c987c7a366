/** Sixteen int32 lanes in two registers. */
#ifndef TINYRT_LANES_H
#define TINYRT_LANES_H

#include <immintrin.h>

#include "tinyrt_types.h"

#define TINYRT_LANES 16

/** Blocks of sums that stay in registers: name, pixels, vectors of channels. */
#define TINYRT_TILES(TILE) TILE(column, 4, 1) TILE(row, 1, 4) TILE(two, 1, 2) TILE(single, 1, 1)
#define TINYRT_MAX_PIXELS 4
#define TINYRT_MAX_VECTORS 4

typedef struct {
    __m256i low;
    __m256i high;
} tinyrt_lanes;

static inline tinyrt_lanes tinyrt_load_lanes(const void *at) {
    const __m256i *const from = at;
    const tinyrt_lanes lanes = {_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
    return lanes;
}

static inline tinyrt_lanes tinyrt_set_lanes(int32_t value) {
    const tinyrt_lanes lanes = {_mm256_set1_epi32(value), _mm256_set1_epi32(value)};
    return lanes;
}

static inline __m256i tinyrt_dot4_half(__m256i acc, __m256i x, __m256i w) {
    const __m256i x_even = _mm256_and_si256(x, _mm256_set1_epi16(255));
    const __m256i w_even = _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8);
    const __m256i x_odd = _mm256_srli_epi16(x, 8);
    const __m256i w_odd = _mm256_srai_epi16(w, 8);
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(x_even, w_even));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(x_odd, w_odd));
}

/** acc + the sum of four products, in each lane: unsigned bytes of x, signed ones of w. */
static inline tinyrt_lanes tinyrt_dot4(tinyrt_lanes acc, tinyrt_lanes x, tinyrt_lanes w) {
    const tinyrt_lanes lanes = {tinyrt_dot4_half(acc.low, x.low, w.low),
                                tinyrt_dot4_half(acc.high, x.high, w.high)};
    return lanes;
}

/** Four vectors of sixteen bytes, one behind the other. */
static inline tinyrt_lanes tinyrt_join_lanes(__m128i first, __m128i second, __m128i third,
                                             __m128i fourth) {
    const tinyrt_lanes lanes = {_mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1),
                                _mm256_inserti128_si256(_mm256_castsi128_si256(third), fourth, 1)};
    return lanes;
}

static inline tinyrt_lanes tinyrt_add_lanes(tinyrt_lanes a, tinyrt_lanes b) {
    const tinyrt_lanes lanes = {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
    return lanes;
}

static inline tinyrt_lanes tinyrt_sub_lanes(tinyrt_lanes a, tinyrt_lanes b) {
    const tinyrt_lanes lanes = {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
    return lanes;
}

static inline tinyrt_lanes tinyrt_mul_lanes(tinyrt_lanes a, tinyrt_lanes b) {
    const tinyrt_lanes lanes = {_mm256_mullo_epi32(a.low, b.low),
                                _mm256_mullo_epi32(a.high, b.high)};
    return lanes;
}

/** Sixteen int8 as lanes. */
static inline tinyrt_lanes tinyrt_widen_lanes(const int8_t *x) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)x);
    const tinyrt_lanes lanes = {_mm256_cvtepi8_epi32(bytes),
                                _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))};
    return lanes;
}

/** Sixteen unsigned bytes as lanes. */
static inline tinyrt_lanes tinyrt_widen_bytes(const uint8_t *x) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)x);
    const tinyrt_lanes lanes = {_mm256_cvtepu8_epi32(bytes),
                                _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
    return lanes;
}

/** a << left, for each lane's own left. */
static inline tinyrt_lanes tinyrt_raise_lanes(tinyrt_lanes a, tinyrt_lanes left) {
    const tinyrt_lanes lanes = {_mm256_sllv_epi32(a.low, left.low),
                                _mm256_sllv_epi32(a.high, left.high)};
    return lanes;
}

static inline __m256i tinyrt_high_half(__m256i a, __m256i mult) {
    const __m256i half = _mm256_set1_epi64x(1LL << 30);
    const __m256i evens = _mm256_add_epi64(_mm256_mul_epi32(a, mult), half);
    const __m256i a_odd = _mm256_srli_epi64(a, 32);
    const __m256i mult_odd = _mm256_srli_epi64(mult, 32);
    const __m256i odds = _mm256_add_epi64(_mm256_mul_epi32(a_odd, mult_odd), half);
    return _mm256_blend_epi32(_mm256_srli_epi64(evens, 31), _mm256_slli_epi64(odds, 1), 0xAA);
}

/** The high half of 2 * a * mult, rounded. */
static inline tinyrt_lanes tinyrt_high_lanes(tinyrt_lanes a, tinyrt_lanes mult) {
    const tinyrt_lanes lanes = {tinyrt_high_half(a.low, mult.low),
                                tinyrt_high_half(a.high, mult.high)};
    return lanes;
}

static inline __m256i tinyrt_lower_half(__m256i a, __m256i right) {
    const __m256i one = _mm256_set1_epi32(1);
    const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(one, right), one);
    const __m256i limit = _mm256_sub_epi32(_mm256_srli_epi32(mask, 1), _mm256_srai_epi32(a, 31));
    const __m256i up = _mm256_cmpgt_epi32(_mm256_and_si256(a, mask), limit);
    return _mm256_sub_epi32(_mm256_srav_epi32(a, right), up);
}

/** a >> right, rounded, halves away from zero; for each lane's own right. */
static inline tinyrt_lanes tinyrt_lower_lanes(tinyrt_lanes a, tinyrt_lanes right) {
    const tinyrt_lanes lanes = {tinyrt_lower_half(a.low, right.low),
                                tinyrt_lower_half(a.high, right.high)};
    return lanes;
}

static inline __m256i tinyrt_upper_half(__m256i a, __m256i mult, __m256i even, __m256i odd) {
    const __m256i evens = _mm256_add_epi64(_mm256_mul_epi32(a, mult), even);
    const __m256i a_odd = _mm256_srli_epi64(a, 32);
    const __m256i mult_odd = _mm256_srli_epi64(mult, 32);
    const __m256i odds = _mm256_add_epi64(_mm256_mul_epi32(a_odd, mult_odd), odd);
    return _mm256_blend_epi32(_mm256_srli_epi64(evens, 32), odds, 0xAA);
}

/** The upper 32 of 64 bits of a * mult + addend; even lanes and odd ones have addends of their own.
 */
static inline tinyrt_lanes tinyrt_upper_lanes(tinyrt_lanes a, tinyrt_lanes mult, tinyrt_lanes even,
                                              tinyrt_lanes odd) {
    const tinyrt_lanes lanes = {tinyrt_upper_half(a.low, mult.low, even.low, odd.low),
                                tinyrt_upper_half(a.high, mult.high, even.high, odd.high)};
    return lanes;
}

/** a >> right, rounded down; for each lane's own right. */
static inline tinyrt_lanes tinyrt_shift_lanes(tinyrt_lanes a, tinyrt_lanes right) {
    const tinyrt_lanes lanes = {_mm256_srav_epi32(a.low, right.low),
                                _mm256_srav_epi32(a.high, right.high)};
    return lanes;
}

/** -1 where a is negative, else 0. */
static inline tinyrt_lanes tinyrt_sign_lanes(tinyrt_lanes a) {
    const tinyrt_lanes lanes = {_mm256_srai_epi32(a.low, 31), _mm256_srai_epi32(a.high, 31)};
    return lanes;
}

static inline tinyrt_lanes tinyrt_clamp_lanes(tinyrt_lanes a, tinyrt_lanes low, tinyrt_lanes high) {
    const tinyrt_lanes lanes = {_mm256_min_epi32(_mm256_max_epi32(a.low, low.low), high.low),
                                _mm256_min_epi32(_mm256_max_epi32(a.high, low.high), high.high)};
    return lanes;
}

/** Store the nearest int8 of the first lanes: count of them, or all where it is more. */
static inline void tinyrt_saturate_lanes(tinyrt_lanes a, int8_t *y, int32_t count) {
    const __m256i shorts = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xD8);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(shorts), _mm256_extracti128_si256(shorts, 1));
    if (count >= TINYRT_LANES) {
        _mm_storeu_si128((__m128i *)(void *)y, bytes);
        return;
    }
    int8_t all[TINYRT_LANES];
    _mm_storeu_si128((__m128i *)(void *)all, bytes);
    for (int32_t i = 0; i < count; ++i) {
        y[i] = all[i];
    }
}

/** The same of lanes that int8 holds. */
static inline void tinyrt_store_lanes(tinyrt_lanes a, int8_t *y, int32_t count) {
    tinyrt_saturate_lanes(a, y, count);
}

#endif
