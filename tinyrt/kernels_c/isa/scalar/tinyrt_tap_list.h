/** The taps of a depthwise filter for four channels. */
#ifndef TINYRT_TAP_LIST_H
#define TINYRT_TAP_LIST_H

#include <string.h>

#include "tinyrt_nibbles.h"

/** Taps of one entry. */
#define TINYRT_TAPS_PER_ENTRY 1

/** A tap: where its activations lie, seen from the window's origin, and four channels' weights. */
typedef struct {
    int32_t offset[1];
    int32_t w[4];
} tinyrt_tap_entry;

/** Sets the weights of count taps; those of tap t lie at w + t * step. */
static inline void tinyrt_list_weights(const int8_t *w, int32_t step, int32_t count,
                                       tinyrt_tap_entry *entry) {
    for (; count > 0; --count, ++entry, w += step) {
        entry->w[0] = w[0];
        entry->w[1] = w[1];
        entry->w[2] = w[2];
        entry->w[3] = w[3];
    }
}

/** As tinyrt_list_weights; w holds nibbles. */
static inline void tinyrt_list_weights_s4(const int8_t *w, int32_t step, int32_t count,
                                          tinyrt_tap_entry *entry) {
    for (; count > 0; --count, ++entry, w += step) {
        const uint32_t four = tinyrt_four_nibbles(w);
        for (int32_t i = 0; i < 4; ++i) {
            entry->w[i] = tinyrt_nibble(four, i);
        }
    }
}

/** As tinyrt_list_weights; weights have two bytes, and step is in bytes. */
static inline void tinyrt_list_weights_wide(const int8_t *w, int32_t step, int32_t count,
                                            tinyrt_tap_entry *entry) {
    for (; count > 0; --count, ++entry, w += step) {
        int16_t four[4];
        (void)memcpy(four, w, sizeof(four));
        for (int32_t i = 0; i < 4; ++i) {
            entry->w[i] = four[i];
        }
    }
}

/** Adds the products of all entries up to end to the sums of four channels. */
static inline void tinyrt_list_dot(const tinyrt_tap_entry *entry, const tinyrt_tap_entry *end,
                                   const int8_t *x, int32_t *acc) {
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    do {
        const int8_t *const tap = x + entry->offset[0];
        a0 += tap[0] * entry->w[0];
        a1 += tap[1] * entry->w[1];
        a2 += tap[2] * entry->w[2];
        a3 += tap[3] * entry->w[3];
    } while (++entry != end);
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
}

#endif
