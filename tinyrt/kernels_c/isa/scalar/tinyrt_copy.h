/** Copies and fills, byte by byte: words may have to be aligned. */
#ifndef TINYRT_COPY_H
#define TINYRT_COPY_H

#include "tinyrt_types.h"

/** Copies bytes to [to, end); returns end. */
static inline int8_t *tinyrt_copy(const int8_t *from, const int8_t *end, int8_t *to) {
    while (to != end) {
        *to++ = *from++;
    }
    return to;
}

/** Sets [to, end) to value. */
static inline void tinyrt_fill(int8_t value, const int8_t *end, int8_t *to) {
    while (to != end) {
        *to++ = value;
    }
}

#endif
