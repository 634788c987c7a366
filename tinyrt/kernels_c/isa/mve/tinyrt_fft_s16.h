/** Stages of transforms of int16, four complex numbers in a vector: what tinyrt_fft_loop.h
 * computes.
 */
#ifndef TINYRT_FFT_S16_H
#define TINYRT_FFT_S16_H

#include "tinyrt_complex_lanes.h"
#include "tinyrt_fft_words_s16.h"

#define TINYRT_FFT_FOURS tinyrt_fft_fours_vectors

/** Keeps loads and stores of words and of halves in their order. */
#ifdef TINYRT_ASM
#define TINYRT_ALL_STORED __asm volatile("" : : : "memory")
#else
#define TINYRT_ALL_STORED ((void)0)
#endif

/** Four parts of four numbers each, not yet divided, joined: see tinyrt_join_four. */
static inline int16x8x4_t tinyrt_joined_lanes(int16x8_t a, int16x8_t b, int16x8_t c, int16x8_t d,
                                              int32_t inverse) {
    const int16x8_t even = vaddq_s16(a, c);
    const int16x8_t odd = vsubq_s16(a, c);
    const int16x8_t both = vaddq_s16(b, d);
    const int16x8_t rest = vsubq_s16(b, d);
    const int16x8_t down = vcaddq_rot270_s16(odd, rest);
    const int16x8_t up = vcaddq_rot90_s16(odd, rest);
    const int16x8x4_t joined = {
        {vaddq_s16(even, both), inverse ? up : down, vsubq_s16(even, both), inverse ? down : up}};
    return joined;
}

static inline int16x8_t tinyrt_quarter(int16x8_t z) {
    return vqrdmulhq_n_s16(z, INT16_MAX / 4);
}

/** The innermost stage, whose numbers lie beside each other: four rounds at a time. Returns how
 * many are done. */
static inline int32_t tinyrt_fours_side_by_side(int16_t *y, int32_t step, int32_t inverse) {
    const int32_t whole = step & ~(TINYRT_COMPLEX_LANES - 1);
    /* Words here are halves elsewhere. */
    TINYRT_ALL_STORED;
    for (int32_t block = 0; block < whole; block += TINYRT_COMPLEX_LANES, y += 32) {
        const int32x4x4_t z = vld4q_s32((const int32_t *)(const void *)y);
        const int16x8x4_t joined =
            tinyrt_joined_lanes(tinyrt_quarter(vreinterpretq_s16_s32(z.val[0])),
                                tinyrt_quarter(vreinterpretq_s16_s32(z.val[1])),
                                tinyrt_quarter(vreinterpretq_s16_s32(z.val[2])),
                                tinyrt_quarter(vreinterpretq_s16_s32(z.val[3])), inverse);
        const int32x4x4_t words = {
            {vreinterpretq_s32_s16(joined.val[0]), vreinterpretq_s32_s16(joined.val[1]),
             vreinterpretq_s32_s16(joined.val[2]), vreinterpretq_s32_s16(joined.val[3])}};
        vst4q_s32((int32_t *)(void *)y, words);
    }
    TINYRT_ALL_STORED;
    return whole;
}

static inline int16x8_t tinyrt_roots(const int16_t *w, uint32x4_t at) {
    const int32_t *const words = (const int32_t *)(const void *)w;
    return vreinterpretq_s16_s32(vldrwq_gather_shifted_offset_s32(words, at));
}

/** Stages whose rounds are a multiple of a vector long. */
static inline void tinyrt_fours_of_lanes(int16_t *y, int32_t m, int32_t step, const int16_t *w,
                                         int32_t inverse) {
    uint32x4_t at = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)step);
    for (int32_t k = 0; k < m; k += TINYRT_COMPLEX_LANES, y += 8) {
        const uint32x4_t twice = vaddq_u32(at, at);
        const int16x8_t first = tinyrt_roots(w, at);
        const int16x8_t second = tinyrt_roots(w, twice);
        const int16x8_t third = tinyrt_roots(w, vaddq_u32(twice, at));
        int16_t *z = y;
        for (int32_t block = 0; block < step; ++block, z += 8 * m) {
            const int16x8x4_t joined = tinyrt_joined_lanes(
                tinyrt_quarter(vldrhq_s16(z)),
                tinyrt_turned_lanes(tinyrt_quarter(vldrhq_s16(z + (2 * m))), first),
                tinyrt_turned_lanes(tinyrt_quarter(vldrhq_s16(z + (4 * m))), second),
                tinyrt_turned_lanes(tinyrt_quarter(vldrhq_s16(z + (6 * m))), third), inverse);
            vstrhq_s16(z, joined.val[0]);
            vstrhq_s16(z + (2 * m), joined.val[1]);
            vstrhq_s16(z + (4 * m), joined.val[2]);
            vstrhq_s16(z + (6 * m), joined.val[3]);
        }
        at = vaddq_n_u32(at, (uint32_t)(TINYRT_COMPLEX_LANES * step));
    }
}

TINYRT_NOINLINE static void tinyrt_fft_fours_vectors(int16_t *y, int32_t m, int32_t step,
                                                     const int16_t *w, int32_t inverse) {
    if ((m % TINYRT_COMPLEX_LANES) == 0) {
        tinyrt_fours_of_lanes(y, m, step, w, inverse);
    } else if (m == 1) {
        const int32_t done = tinyrt_fours_side_by_side(y, step, inverse);
        tinyrt_fft_fours_words(y + (8 * done), m, step - done, w, inverse);
    } else {
        tinyrt_fft_fours_words(y, m, step, w, inverse);
    }
}

#endif
