/** Weights of four bits, two to a byte. */
#ifndef TINYRT_NIBBLES_H
#define TINYRT_NIBBLES_H

#include "tinyrt_types.h"

#include <string.h>

/** Nibble i of a word, sign-extended. */
static inline int32_t tinyrt_nibble(uint32_t word, int32_t i) {
    return (int32_t)(word << (28 - (4 * i))) >> 28;
}

/** Of a shift of a depthwise layer: the right shift plus 1. */
static inline int32_t tinyrt_right_of(int8_t shift) {
    return shift & 31;
}

/** What its channel's weights are multiplied with: scales finer than the sums' raise them, and the
 *  nibbles do not hold that. Bits 5 to 7 are the power of two. */
static inline int32_t tinyrt_factor_of(int8_t shift) {
    return 1 << ((uint8_t)shift >> 5);
}

/** The four nibbles of two bytes. */
static inline uint32_t tinyrt_four_nibbles(const int8_t *w) {
    return (uint32_t)(uint8_t)w[0] | (uint32_t)(uint8_t)w[1] << 8;
}

/** Nine weights: eight in a word, one sign-extended. */
typedef struct {
    uint32_t word;
    int32_t last;
} tinyrt_nibbles9;

/** The filter of 3 x 3 of channel c: in the word taps 00, 01, 02, 20, 10, 11, 12, 21 (row, column)
 *  from the lowest nibble on, last 22. Two channels take nine bytes: the first one's word, a byte
 *  with the last of both, the second one's word. */
static inline tinyrt_nibbles9 tinyrt_filter3_nibbles(const int8_t *w, int32_t c) {
    const int8_t *const two = w + (9 * (c >> 1));
    const int32_t odd = c & 1;
    tinyrt_nibbles9 n;
    (void)memcpy(&n.word, two + (5 * odd), sizeof n.word);
    n.last = tinyrt_nibble((uint32_t)two[4], odd);
    return n;
}

#endif
