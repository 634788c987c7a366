/** Register tiles: sums of products for several outputs at once, requantised and stored.
 *
 *  Inputs are unsigned bytes (int8 with the sign bit flipped, which adds 128; the bias makes up for
 *  it), found through tables of offsets, so that one loop serves every window, stride and dilation.
 *  Channels come in vectors of lanes; the constants of a vector are contiguous: first sums,
 *  mantissas, left and right shifts. */
#ifndef TINYRT_TILE_H
#define TINYRT_TILE_H

#include <string.h>

#include "tinyrt_lanes.h"

#define TINYRT_INLINE static inline __attribute__((always_inline))

/** Bytes of a vector's weights for one step, and int32 of its constants. */
#define TINYRT_LANE_BYTES (4 * TINYRT_LANES)
#define TINYRT_QUANT (4 * TINYRT_LANES)

/** What turns a vector of sums into outputs. */
typedef struct {
    tinyrt_lanes mult;
    tinyrt_lanes left;
    tinyrt_lanes right;
    tinyrt_lanes zp;
    tinyrt_lanes low;
    tinyrt_lanes high;
} tinyrt_finish;

TINYRT_INLINE tinyrt_finish tinyrt_load_finish(const int32_t *quant, int32_t y_zp, int32_t act_min,
                                               int32_t act_max) {
    const tinyrt_finish finish = {
        .mult = tinyrt_load_lanes(quant + TINYRT_LANES),
        .left = tinyrt_load_lanes(quant + 2 * TINYRT_LANES),
        .right = tinyrt_load_lanes(quant + 3 * TINYRT_LANES),
        .zp = tinyrt_set_lanes(y_zp),
        .low = tinyrt_set_lanes(act_min),
        .high = tinyrt_set_lanes(act_max),
    };
    return finish;
}

/** Requantise a vector of sums and store count channels of it. */
TINYRT_INLINE void tinyrt_finish_lanes(tinyrt_lanes acc, const tinyrt_finish *finish, int8_t *y,
                                       int32_t count) {
    acc = tinyrt_high_lanes(tinyrt_raise_lanes(acc, finish->left), finish->mult);
    acc = tinyrt_add_lanes(tinyrt_lower_lanes(acc, finish->right), finish->zp);
    tinyrt_store_lanes(tinyrt_clamp_lanes(acc, finish->low, finish->high), y, count);
}

/** Four bytes in each lane. */
TINYRT_INLINE tinyrt_lanes tinyrt_spread4(const uint8_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return tinyrt_set_lanes(four);
}

/** Sixteen bytes of each of four places as lanes of four bytes, one from each. */
TINYRT_INLINE tinyrt_lanes tinyrt_interleave4(const uint8_t *x, const int32_t *taps) {
    const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(x + taps[0]));
    const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(x + taps[1]));
    const __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(x + taps[2]));
    const __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(x + taps[3]));
    const __m128i ab_low = _mm_unpacklo_epi8(a, b);
    const __m128i ab_high = _mm_unpackhi_epi8(a, b);
    const __m128i cd_low = _mm_unpacklo_epi8(c, d);
    const __m128i cd_high = _mm_unpackhi_epi8(c, d);
    return tinyrt_join_lanes(_mm_unpacklo_epi16(ab_low, cd_low), _mm_unpackhi_epi16(ab_low, cd_low),
                             _mm_unpacklo_epi16(ab_high, cd_high),
                             _mm_unpackhi_epi16(ab_high, cd_high));
}

#endif
