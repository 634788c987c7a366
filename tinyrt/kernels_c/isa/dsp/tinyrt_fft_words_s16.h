/** Stages of transforms of int16, a complex number in a word: what tinyrt_fft_loop.h computes. */
#ifndef TINYRT_FFT_WORDS_S16_H
#define TINYRT_FFT_WORDS_S16_H

#include "tinyrt_complex_s16.h"

/** Four parts, m numbers apart, of each of step blocks. They are divided, turned by the roots u, v
 *  and w unless the roots are 32767 / 32768, which leaves what is divided by four as it is, and
 *  joined. */
static inline void tinyrt_join_fours(int16_t *y, int32_t m, int32_t step, int32_t is_turned,
                                     uint32_t u, uint32_t v, uint32_t w, int32_t inverse) {
    const uint32_t quarter = 2 * (INT16_MAX / 4);
    for (int32_t block = 0; block < step; ++block, y += 8 * m) {
        const uint32_t a = tinyrt_divided(tinyrt_load_word(y), quarter);
        uint32_t b = tinyrt_divided(tinyrt_load_word(y + (2 * m)), quarter);
        uint32_t c = tinyrt_divided(tinyrt_load_word(y + (4 * m)), quarter);
        uint32_t d = tinyrt_divided(tinyrt_load_word(y + (6 * m)), quarter);
        if (is_turned != 0) {
            b = tinyrt_turned_by(b, u);
            c = tinyrt_turned_by(c, v);
            d = tinyrt_turned_by(d, w);
        }
        const uint32_t even = tinyrt_add_pairs(a, c);
        const uint32_t odd = tinyrt_sub_pairs(a, c);
        const uint32_t both = tinyrt_add_pairs(b, d);
        const uint32_t rest = tinyrt_sub_pairs(b, d);
        tinyrt_store_word(y, tinyrt_add_pairs(even, both));
        tinyrt_store_word(y + (4 * m), tinyrt_sub_pairs(even, both));
        tinyrt_store_word(y + (inverse ? 6 : 2) * m, tinyrt_sub_turned(odd, rest));
        tinyrt_store_word(y + (inverse ? 2 : 6) * m, tinyrt_add_turned(odd, rest));
    }
}

/** A stage of four parts: see tinyrt_fft_fours. */
TINYRT_NOINLINE static void tinyrt_fft_fours_words(int16_t *y, int32_t m, int32_t step,
                                                   const int16_t *w, int32_t inverse) {
    tinyrt_join_fours(y, m, step, 0, 0, 0, 0, inverse);
    for (int32_t at = step; at < (m * step); at += step) {
        y += 2;
        tinyrt_join_fours(y, m, step, 1, tinyrt_load_word(w + (2 * at)),
                          tinyrt_load_word(w + (4 * at)), tinyrt_load_word(w + (6 * at)), inverse);
    }
}

#endif
