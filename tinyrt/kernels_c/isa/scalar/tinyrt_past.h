/** Rows of past features that move on, and their products with weights. Sums wrap. */
#ifndef TINYRT_PAST_H
#define TINYRT_PAST_H

#include "tinyrt_copy.h"

/** Copies count elements behind the first one of before to the start of after, which may be the
 *  same. */
static inline void tinyrt_move_on(const void *before, int32_t element_bytes, int32_t count,
                                  void *after) {
    int8_t *to = after;
    const int8_t *from = (const int8_t *)before + element_bytes;
    int32_t left = count * element_bytes;
    for (; left >= TINYRT_COPY_BYTES; left -= TINYRT_COPY_BYTES) {
        uint32_t word = 0;
        (void)memcpy(&word, from, TINYRT_COPY_BYTES);
        (void)memcpy(to, &word, TINYRT_COPY_BYTES);
        from += TINYRT_COPY_BYTES;
        to += TINYRT_COPY_BYTES;
    }
    for (; left > 0; --left) {
        TINYRT_SHORT_LOOP;
        *to++ = *from++;
    }
}

static inline int32_t tinyrt_past_s16(const int16_t *state, const int16_t *weights, int32_t length,
                                      int32_t acc) {
    for (const int16_t *const end = state + length; state != end; ++state, ++weights) {
        acc = (int32_t)((uint32_t)acc + (uint32_t)(*state * *weights));
    }
    return acc;
}

static inline int32_t tinyrt_past_s8(const int8_t *state, const int8_t *weights, int32_t length,
                                     int32_t acc) {
    for (const int8_t *const end = state + length; state != end; ++state, ++weights) {
        acc = (int32_t)((uint32_t)acc + (uint32_t)(*state * *weights));
    }
    return acc;
}

#endif
