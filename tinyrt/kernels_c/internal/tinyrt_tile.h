/** Register tiles: sums of products for several outputs at once, requantised and stored.
 *
 *  Inputs are unsigned bytes (int8 with the sign bit flipped, which adds 128; the bias makes up for
 *  it), found through tables of offsets, so that one loop serves every window, stride and dilation.
 *  Channels come in vectors of lanes; the constants of a vector are contiguous: first sums,
 *  mantissas, right shifts, and addends of even and odd lanes; in the general form left shifts, and
 *  nothing. */
#ifndef TINYRT_TILE_H
#define TINYRT_TILE_H

#include <string.h>

#include "tinyrt_lanes.h"
#include "tinyrt_output_x86.h"

#define TINYRT_INLINE static inline __attribute__((always_inline))

/** Bytes of a vector's weights for one step, and int32 of its constants. */
#define TINYRT_LANE_BYTES (4 * TINYRT_LANES)
#define TINYRT_QUANT (5 * TINYRT_LANES)

/** How sums become outputs: with two roundings; with one; with one and no clamp but int8; likewise,
 *  where negative sums become the zero point, the least int8. All are exact where they are chosen.
 */
#define TINYRT_FINISH_GENERAL 0
#define TINYRT_FINISH_CLAMPED 1
#define TINYRT_FINISH_SIGNED 2
#define TINYRT_FINISH_RELU 3

/** What turns a vector of sums into outputs. */
typedef struct {
    tinyrt_lanes mult;
    tinyrt_lanes right;
    tinyrt_lanes even;
    tinyrt_lanes odd;
    tinyrt_lanes zp;
    tinyrt_lanes low;
    tinyrt_lanes high;
} tinyrt_finish;

TINYRT_INLINE tinyrt_finish tinyrt_load_finish(const int32_t *quant, const tinyrt_output_x86 *out) {
    const tinyrt_finish finish = {
        .mult = tinyrt_load_lanes(quant + TINYRT_LANES),
        .right = tinyrt_load_lanes(quant + 2 * TINYRT_LANES),
        .even = tinyrt_load_lanes(quant + 3 * TINYRT_LANES),
        .odd = tinyrt_load_lanes(quant + 4 * TINYRT_LANES),
        .zp = tinyrt_set_lanes(out->zp),
        .low = tinyrt_set_lanes(out->act_min),
        .high = tinyrt_set_lanes(out->act_max),
    };
    return finish;
}

/** Requantise a vector of sums and store count channels of it; form is a constant. */
TINYRT_INLINE void tinyrt_finish_lanes(tinyrt_lanes acc, int32_t form, const tinyrt_finish *finish,
                                       int8_t *y, int32_t count) {
    if (form == TINYRT_FINISH_RELU) {
        acc = tinyrt_upper_lanes(acc, finish->mult, finish->even, finish->odd);
        tinyrt_saturate_lanes(tinyrt_shift_lanes(acc, finish->right), y, count);
        return;
    }
    if (form == TINYRT_FINISH_GENERAL) {
        acc = tinyrt_high_lanes(tinyrt_raise_lanes(acc, finish->even), finish->mult);
        acc = tinyrt_add_lanes(tinyrt_lower_lanes(acc, finish->right), finish->zp);
    } else {
        const tinyrt_lanes upper =
            tinyrt_upper_lanes(tinyrt_add_lanes(acc, acc), finish->mult, finish->even, finish->odd);
        acc = tinyrt_shift_lanes(tinyrt_add_lanes(upper, tinyrt_sign_lanes(acc)), finish->right);
    }
    if (form == TINYRT_FINISH_SIGNED) {
        tinyrt_saturate_lanes(acc, y, count);
    } else {
        tinyrt_store_lanes(tinyrt_clamp_lanes(acc, finish->low, finish->high), y, count);
    }
}

/** Write body once for each form, a constant in it, and choose. */
#define TINYRT_IN_EACH_FORM(chosen, body)                                                          \
    do {                                                                                           \
        if ((chosen) == TINYRT_FINISH_RELU) {                                                      \
            const int32_t form = TINYRT_FINISH_RELU;                                               \
            body;                                                                                  \
        } else if ((chosen) == TINYRT_FINISH_SIGNED) {                                             \
            const int32_t form = TINYRT_FINISH_SIGNED;                                             \
            body;                                                                                  \
        } else if ((chosen) == TINYRT_FINISH_CLAMPED) {                                            \
            const int32_t form = TINYRT_FINISH_CLAMPED;                                            \
            body;                                                                                  \
        } else {                                                                                   \
            const int32_t form = TINYRT_FINISH_GENERAL;                                            \
            body;                                                                                  \
        }                                                                                          \
    } while (0)

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
#ifdef TINYRT_INTERLEAVES_LANES
    return tinyrt_interleave_lanes(a, b, c, d);
#else
    const __m128i ab_low = _mm_unpacklo_epi8(a, b);
    const __m128i ab_high = _mm_unpackhi_epi8(a, b);
    const __m128i cd_low = _mm_unpacklo_epi8(c, d);
    const __m128i cd_high = _mm_unpackhi_epi8(c, d);
    return tinyrt_join_lanes(_mm_unpacklo_epi16(ab_low, cd_low), _mm_unpackhi_epi16(ab_low, cd_low),
                             _mm_unpacklo_epi16(ab_high, cd_high),
                             _mm_unpackhi_epi16(ab_high, cd_high));
#endif
}

#endif
