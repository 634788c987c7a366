/** Copies and fills, in words at any address. */
#ifndef TINYRT_COPY_H
#define TINYRT_COPY_H

#include "tinyrt_simd.h"

/** Copies bytes to [to, end); returns end. */
static inline int8_t *tinyrt_copy(const int8_t *from, const int8_t *end, int8_t *to) {
    for (; end - to >= 4; to += 4, from += 4) {
        tinyrt_store_word(to, tinyrt_load_word(from));
    }
    while (to != end) {
        *to++ = *from++;
    }
    return to;
}

/** Sets [to, end) to value. */
static inline void tinyrt_fill(int8_t value, const int8_t *end, int8_t *to) {
    const uint32_t word = UINT32_C(0x01010101) * (uint8_t)value;
    for (; end - to >= 4; to += 4) {
        tinyrt_store_word(to, word);
    }
    while (to != end) {
        *to++ = value;
    }
}

#endif
