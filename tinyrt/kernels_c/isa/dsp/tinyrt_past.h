/** Rows of past features that move on, and their products with weights. Sums wrap. */
#ifndef TINYRT_PAST_H
#define TINYRT_PAST_H

#include "tinyrt_simd.h"

/** Copies count elements behind the first one of before to the start of after, which may be the
 *  same. */
static inline void tinyrt_move_on(const void *before, int32_t element_bytes, int32_t count,
                                  void *after) {
    int8_t *to = after;
    const int8_t *from = (const int8_t *)before + element_bytes;
    int32_t left = count * element_bytes;
    for (; left >= 16; left -= 16, from += 16, to += 16) {
        const uint32_t first = tinyrt_load_word(from);
        const uint32_t second = tinyrt_load_word(from + 4);
        const uint32_t third = tinyrt_load_word(from + 8);
        const uint32_t fourth = tinyrt_load_word(from + 12);
        tinyrt_store_word(to, first);
        tinyrt_store_word(to + 4, second);
        tinyrt_store_word(to + 8, third);
        tinyrt_store_word(to + 12, fourth);
    }
    for (; left > 0; --left) {
        TINYRT_SHORT_LOOP;
        *to++ = *from++;
    }
}

static inline int32_t tinyrt_past_s16(const int16_t *state, const int16_t *weights, int32_t length,
                                      int32_t acc) {
    const int16_t *const end = state + (length & ~1);
    for (; state != end; state += 2, weights += 2) {
        acc = tinyrt_dot_pair(tinyrt_load_word(state), tinyrt_load_word(weights), acc);
    }
    if ((length & 1) != 0) {
        acc = (int32_t)((uint32_t)acc + (uint32_t)(*state * *weights));
    }
    return acc;
}

static inline int32_t tinyrt_past_s8(const int8_t *state, const int8_t *weights, int32_t length,
                                     int32_t acc) {
    const int8_t *const whole = state + (length & ~3);
    const int8_t *const end = state + length;
    for (; state != whole; state += 4, weights += 4) {
        const uint32_t of_state = tinyrt_load_word(state);
        const uint32_t of_weights = tinyrt_load_word(weights);
        acc = tinyrt_dot_pair(tinyrt_even_bytes(of_state), tinyrt_even_bytes(of_weights), acc);
        acc = tinyrt_dot_pair(tinyrt_odd_bytes(of_state), tinyrt_odd_bytes(of_weights), acc);
    }
    for (; state != end; ++state, ++weights) {
        TINYRT_SHORT_LOOP;
        acc = (int32_t)((uint32_t)acc + (uint32_t)(*state * *weights));
    }
    return acc;
}

#endif
