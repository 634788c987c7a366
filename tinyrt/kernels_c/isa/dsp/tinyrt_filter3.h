/** A 3 x 3 filter of one channel, applied column by column. */
#ifndef TINYRT_FILTER3_H
#define TINYRT_FILTER3_H

#include "tinyrt_simd.h"

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

/** w holds the weights of taps 00, 01, 10, 11, 02, 20, 12, 21, 22 (row, column) and three zeros. */
static inline tinyrt_filter3 tinyrt_load_filter3(const int8_t *w) {
    const uint32_t first = tinyrt_load_word(w);
    const uint32_t second = tinyrt_load_word(w + 4);
    const tinyrt_filter3 f = {
        {tinyrt_even_bytes(first), tinyrt_odd_bytes(first), tinyrt_even_bytes(second)},
        tinyrt_odd_bytes(second),
        tinyrt_even_bytes(tinyrt_load_word(w + 8)),
    };
    return f;
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
    return tinyrt_add_low_low(x.lowest, kx == 0 ? f->lowest_01 : f->lowest_2, upper);
}

#endif
