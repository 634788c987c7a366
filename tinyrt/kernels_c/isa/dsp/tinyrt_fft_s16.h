/** Stages of transforms of int16, a complex number in a word: what tinyrt_fft_loop.h computes. */
#ifndef TINYRT_FFT_S16_H
#define TINYRT_FFT_S16_H

#include "tinyrt_complex_s16.h"

#define TINYRT_FFT_FOURS tinyrt_fft_fours_s16
#define TINYRT_RFFT_PAIRS tinyrt_rfft_pairs_s16

/** Four numbers, divided already and turned but for the first, to y and three places m apart. */
static inline void tinyrt_join_four(const uint32_t z[4], int16_t *y, int32_t m, int32_t inverse) {
    const uint32_t even = tinyrt_add_pairs(z[0], z[2]);
    const uint32_t odd = tinyrt_sub_pairs(z[0], z[2]);
    const uint32_t both = tinyrt_add_pairs(z[1], z[3]);
    const uint32_t rest = tinyrt_sub_pairs(z[1], z[3]);
    const uint32_t down = tinyrt_sub_turned(odd, rest);
    const uint32_t up = tinyrt_add_turned(odd, rest);
    tinyrt_store_word(y, tinyrt_add_pairs(even, both));
    tinyrt_store_word(y + 4 * m, tinyrt_sub_pairs(even, both));
    tinyrt_store_word(y + 2 * m, inverse ? up : down);
    tinyrt_store_word(y + 6 * m, inverse ? down : up);
}

/** Stages of four parts: see tinyrt_fft_four. The first root is 32767 / 32768, which leaves numbers
 *  as they are that are divided by four. */
static inline void tinyrt_fours(int16_t *y, int32_t m, int32_t step, const int16_t *w,
                                int32_t inverse) {
    const uint32_t quarter = 2 * (INT16_MAX / 4);
    for (int32_t block = 0; block < step; ++block, y += 6 * m) {
        for (int32_t k = 0; k < m; ++k, y += 2) {
            uint32_t z[4];
            for (int32_t part = 0; part < 4; ++part) {
                z[part] = tinyrt_divided(tinyrt_load_word(y + 2 * part * m), quarter);
            }
            if (m > 1) {
                const int16_t *const root = w + 2 * k * step;
                z[1] = tinyrt_turned_by(z[1], tinyrt_load_word(root));
                z[2] = tinyrt_turned_by(z[2], tinyrt_load_word(w + 4 * k * step));
                z[3] = tinyrt_turned_by(z[3], tinyrt_load_word(w + 6 * k * step));
            }
            tinyrt_join_four(z, y, m, inverse);
        }
    }
}

static void tinyrt_fft_fours_s16(int16_t *y, int32_t m, int32_t step, const int16_t *w,
                                 int32_t inverse) {
    if (m == 1) {
        tinyrt_fours(y, 1, step, w, inverse);
    } else {
        tinyrt_fours(y, m, step, w, inverse);
    }
}

/** The spectrum of a signal from that of its pairs of samples: see tinyrt_rfft_pair. */
static inline void tinyrt_rfft_pairs_s16(int32_t count, const int16_t *split, int16_t *y) {
    const uint32_t half = 2 * (INT16_MAX / 2);
    int16_t *other = y + 2 * count - 2;
    for (y += 2; y <= other; y += 2, other -= 2, split += 2) {
        const uint32_t z = tinyrt_load_word(other);
        const uint32_t conjugate = tinyrt_low_halves(z, tinyrt_sub_pairs(0, z) >> 16);
        const uint32_t near = tinyrt_divided(tinyrt_load_word(y), half);
        const uint32_t far = tinyrt_divided(conjugate, half);
        const uint32_t both = tinyrt_add_pairs(near, far);
        const uint32_t t = tinyrt_turned_by(tinyrt_sub_pairs(near, far), tinyrt_load_word(split));
        tinyrt_store_word(y, tinyrt_half_sum(both, t));
        tinyrt_store_word(other, tinyrt_low_halves(tinyrt_half_difference(both, t),
                                                   tinyrt_half_difference(t, both) >> 16));
    }
}

#endif
