/** Copies and fills, a vector at a time. */
#ifndef TINYRT_COPY_H
#define TINYRT_COPY_H

#include "tinyrt_mve_memory.h"

#define TINYRT_COPY_BYTES TINYRT_VECTOR

/** Copies bytes to [to, end); returns end. */
static inline int8_t *tinyrt_copy(const int8_t *from, const int8_t *end, int8_t *to) {
    const int32_t bytes = (int32_t)(end - to);
    tinyrt_mve_copy(to, from, bytes);
    return to + bytes;
}

/** As tinyrt_copy; where others have a loop for words at any address. */
static inline int8_t *tinyrt_copy_steps(const int8_t *from, const int8_t *end, int8_t *to) {
    return tinyrt_copy(from, end, to);
}

/** As tinyrt_copy; where others have a loop for multiples of 16 bytes. */
static inline void tinyrt_copy_blocks(const int8_t *from, const int8_t *end, int8_t *to) {
    (void)tinyrt_copy(from, end, to);
}

/** As tinyrt_copy; where others have a loop for words. */
static inline void tinyrt_copy_words(const int8_t *from, const int8_t *end, int8_t *to) {
    (void)tinyrt_copy(from, end, to);
}

/** Sets [to, end) to value. */
static inline void tinyrt_fill(int8_t value, const int8_t *end, int8_t *to) {
    tinyrt_mve_fill(to, value, (int32_t)(end - to));
}

#endif
