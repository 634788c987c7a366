/** The last step of transforms of real int16, a complex number in a word. */
#ifndef TINYRT_RFFT_WORDS_S16_H
#define TINYRT_RFFT_WORDS_S16_H

#include "tinyrt_complex_s16.h"

/** The spectrum of a signal from that of its pairs of samples, from frequency k on: see
 *  tinyrt_rfft_pair. */
TINYRT_NOINLINE static void tinyrt_rfft_words(int32_t k, int32_t count, const int16_t *split,
                                              int16_t *y) {
    const uint32_t half = 2 * (INT16_MAX / 2);
    int16_t *other = y + (2 * (count - k));
    split += 2 * (k - 1);
    for (y += 2 * k; y <= other; y += 2, other -= 2, split += 2) {
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
