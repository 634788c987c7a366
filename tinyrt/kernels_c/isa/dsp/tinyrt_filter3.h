/** A 3 x 3 filter of one channel, applied column by column. */
#ifndef TINYRT_FILTER3_H
#define TINYRT_FILTER3_H

#include "tinyrt_nibbles.h"
#include "tinyrt_simd.h"

/** Two lines of outputs at once take fewer instructions, and 1.3 KB more of code. */
#ifndef __OPTIMIZE_SIZE__
#define TINYRT_FILTER3_PAIRS
#endif

/** Of each column the pair of the upper two weights; those of the last row. */
typedef struct {
    uint32_t upper[3];
    uint32_t lowest_01;
    uint32_t lowest_2;
} tinyrt_filter3;

/** The activations under one column of the filter. */
typedef struct {
    uint32_t upper;
    uint32_t lowest;
} tinyrt_column3;

/** The filter of channel c; w holds for every channel the weights of taps 00, 01, 10, 11, 02, 20,
 *  12, 21, 22 (row, column). */
static inline tinyrt_filter3 tinyrt_load_filter3_s8(const int8_t *w, int32_t c) {
    const int8_t *const taps = w + (9 * c);
    const uint32_t first = tinyrt_load_word(taps);
    const uint32_t second = tinyrt_load_word(taps + 4);
    const tinyrt_filter3 f = {
        {tinyrt_even_bytes(first), tinyrt_odd_bytes(first), tinyrt_even_bytes(second)},
        tinyrt_odd_bytes(second),
        (uint32_t)taps[8],
    };
    return f;
}

/** The nibbles i and i + 4 times factor, as a pair. */
static inline uint32_t tinyrt_nibble_pair(uint32_t word, int32_t i, int32_t factor) {
    return tinyrt_low_halves((uint32_t)(tinyrt_nibble(word, i) * factor),
                             (uint32_t)(tinyrt_nibble(word, i + 4) * factor));
}

/** As tinyrt_load_filter3_s8, times factor; w holds nibbles, see tinyrt_filter3_nibbles. */
static inline tinyrt_filter3 tinyrt_load_filter3_s4(const int8_t *w, int32_t c, int32_t factor) {
    const tinyrt_nibbles9 n = tinyrt_filter3_nibbles(w, c);
    const tinyrt_filter3 f = {
        {tinyrt_nibble_pair(n.word, 0, factor), tinyrt_nibble_pair(n.word, 1, factor),
         tinyrt_nibble_pair(n.word, 2, factor)},
        tinyrt_nibble_pair(n.word, 3, factor),
        (uint32_t)(n.last * factor),
    };
    return f;
}

/** The filter of channel c; w holds for every channel the weights of taps 00, 10, 01, 11, 02, 12,
 *  20, 21, 22 (row, column), of 16 bits each. */
static inline tinyrt_filter3 tinyrt_load_filter3_wide(const int8_t *w, int32_t c) {
    const int8_t *const taps = w + (18 * c);
    const tinyrt_filter3 f = {
        {tinyrt_load_word(taps), tinyrt_load_word(taps + 4), tinyrt_load_word(taps + 8)},
        tinyrt_load_word(taps + 12),
        tinyrt_load_word(taps + 14) >> 16,
    };
    return f;
}

/** Takes the weights of the first row out; returns their sum, times factor. */
static inline int32_t tinyrt_drop_first3(tinyrt_filter3 *f, int32_t factor) {
    int32_t sum = 0;
    for (int32_t kx = 0; kx < 3; ++kx) {
        sum = tinyrt_add_low_low(f->upper[kx], (uint32_t)factor, sum);
        f->upper[kx] &= 0xFFFF0000U;
    }
    return sum;
}

/** As tinyrt_drop_first3 for the last row. */
static inline int32_t tinyrt_drop_last3(tinyrt_filter3 *f, int32_t factor) {
    const int32_t two = tinyrt_add_low_low(f->lowest_01, (uint32_t)factor, 0);
    const int32_t one = tinyrt_add_low_high((uint32_t)factor, f->lowest_01, two);
    const int32_t sum = tinyrt_add_low_low(f->lowest_2, (uint32_t)factor, one);
    f->lowest_01 = 0;
    f->lowest_2 = 0;
    return sum;
}

/** Both halves doubled; each fits into 15 bits. */
static inline uint32_t tinyrt_double_pair(uint32_t pair) {
    return (pair << 1) & 0xFFFEFFFFU;
}

/** Doubles all weights. */
static inline void tinyrt_double3(tinyrt_filter3 *f) {
    for (int32_t kx = 0; kx < 3; ++kx) {
        f->upper[kx] = tinyrt_double_pair(f->upper[kx]);
    }
    f->lowest_01 = tinyrt_double_pair(f->lowest_01);
    f->lowest_2 <<= 1;
}

static inline tinyrt_column3 tinyrt_load_column3(int32_t x0, int32_t x1, int32_t x2) {
    const tinyrt_column3 column = {tinyrt_low_halves((uint32_t)x0, (uint32_t)x1), (uint32_t)x2};
    return column;
}

/** sum plus the products of column kx. */
static inline int32_t tinyrt_add_column3(const tinyrt_filter3 *f, int32_t kx, tinyrt_column3 x,
                                         int32_t sum) {
    const int32_t upper = tinyrt_dot_pair(x.upper, f->upper[kx], sum);
    if (kx == 1) {
        return tinyrt_add_low_high(x.lowest, f->lowest_01, upper);
    }
    return tinyrt_add_low_low(x.lowest, (kx == 0) ? f->lowest_01 : f->lowest_2, upper);
}

#endif
