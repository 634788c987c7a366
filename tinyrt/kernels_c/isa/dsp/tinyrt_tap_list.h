/** The taps of a depthwise filter for four channels, two taps at a time. */
#ifndef TINYRT_TAP_LIST_H
#define TINYRT_TAP_LIST_H

#include "tinyrt_nibbles.h"
#include "tinyrt_simd.h"

/** Taps of one entry. */
#define TINYRT_TAPS_PER_ENTRY 2

/** Two taps: where their activations lie, seen from the window's origin, and for each channel the
 *  pair of their weights. */
typedef struct {
    int32_t offset[2];
    uint32_t w[4];
} tinyrt_tap_entry;

/** Sets the weights of count taps; those of tap t lie at w + t * step. An odd last
 *  tap is paired with itself, with the weight 0. */
static inline void tinyrt_list_weights(const int8_t *w, int32_t step, int32_t count,
                                       tinyrt_tap_entry *entry) {
    for (; count > 0; count -= 2, ++entry, w += 2 * step) {
        const uint32_t first = tinyrt_load_word(w);
        const uint32_t second = (count > 1) ? tinyrt_load_word(w + step) : 0;
        const uint32_t low = tinyrt_low_halves(first, second);
        const uint32_t high = tinyrt_high_halves(first, second);
        entry->w[0] = tinyrt_even_bytes(low);
        entry->w[1] = tinyrt_odd_bytes(low);
        entry->w[2] = tinyrt_even_bytes(high);
        entry->w[3] = tinyrt_odd_bytes(high);
    }
}

/** As tinyrt_list_weights; w holds nibbles. */
static inline void tinyrt_list_weights_s4(const int8_t *w, int32_t step, int32_t count,
                                          tinyrt_tap_entry *entry) {
    for (; count > 0; count -= 2, ++entry, w += 2 * step) {
        const uint32_t first = tinyrt_four_nibbles(w);
        const uint32_t second = (count > 1) ? tinyrt_four_nibbles(w + step) : 0;
        for (int32_t i = 0; i < 4; ++i) {
            entry->w[i] = tinyrt_low_halves((uint32_t)tinyrt_nibble(first, i),
                                            (uint32_t)tinyrt_nibble(second, i));
        }
    }
}

/** As tinyrt_list_weights; weights have two bytes, and step is in bytes. */
static inline void tinyrt_list_weights_wide(const int8_t *w, int32_t step, int32_t count,
                                            tinyrt_tap_entry *entry) {
    for (; count > 0; count -= 2, ++entry, w += 2 * step) {
        for (int32_t i = 0; i < 4; i += 2) {
            const uint32_t first = tinyrt_load_word(w + (2 * i));
            const uint32_t second = (count > 1) ? tinyrt_load_word(w + step + (2 * i)) : 0;
            entry->w[i] = tinyrt_low_halves(first, second);
            entry->w[i + 1] = tinyrt_high_halves(first, second);
        }
    }
}

/** Adds the products of all entries up to end to the sums of four channels. */
static inline void tinyrt_list_dot(const tinyrt_tap_entry *entry, const tinyrt_tap_entry *end,
                                   const int8_t *x, int32_t *acc) {
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    do {
        const uint32_t first = tinyrt_load_word(x + entry->offset[0]);
        const uint32_t second = tinyrt_load_word(x + entry->offset[1]);
        const uint32_t low = tinyrt_low_halves(first, second);
        const uint32_t high = tinyrt_high_halves(first, second);
        a0 = tinyrt_dot_pair(tinyrt_even_bytes(low), entry->w[0], a0);
        a1 = tinyrt_dot_pair(tinyrt_odd_bytes(low), entry->w[1], a1);
        a2 = tinyrt_dot_pair(tinyrt_even_bytes(high), entry->w[2], a2);
        a3 = tinyrt_dot_pair(tinyrt_odd_bytes(high), entry->w[3], a3);
    } while (++entry != end);
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
}

#endif
