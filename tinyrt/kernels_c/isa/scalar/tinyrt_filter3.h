/** A 3 x 3 filter of one channel, applied column by column. */
#ifndef TINYRT_FILTER3_H
#define TINYRT_FILTER3_H

#include <string.h>

#include "tinyrt_nibbles.h"

/** The weights, row by row. */
typedef struct {
    int32_t w[9];
} tinyrt_filter3;

/** The activations under one column of the filter. */
typedef struct {
    int32_t x[3];
} tinyrt_column3;

/** The filter of channel c; w holds for every channel the weights of taps 00, 01, 10, 11, 02, 20,
 *  12, 21, 22 (row, column). */
static inline tinyrt_filter3 tinyrt_load_filter3_s8(const int8_t *w, int32_t c) {
    w += 9 * c;
    const tinyrt_filter3 f = {{w[0], w[1], w[4], w[2], w[3], w[6], w[5], w[7], w[8]}};
    return f;
}

/** As tinyrt_load_filter3_s8, times factor; w holds nibbles, see tinyrt_filter3_nibbles. */
static inline tinyrt_filter3 tinyrt_load_filter3_s4(const int8_t *w, int32_t c, int32_t factor) {
    const tinyrt_nibbles9 n = tinyrt_filter3_nibbles(w, c);
    tinyrt_filter3 f = {{0}};
    for (int32_t kx = 0; kx < 3; ++kx) {
        f.w[kx] = tinyrt_nibble(n.word, kx) * factor;
        f.w[3 + kx] = tinyrt_nibble(n.word, 4 + kx) * factor;
    }
    f.w[6] = tinyrt_nibble(n.word, 3) * factor;
    f.w[7] = tinyrt_nibble(n.word, 7) * factor;
    f.w[8] = n.last * factor;
    return f;
}

/** Weight i of those at w, of 16 bits each. */
static inline int32_t tinyrt_wide_weight(const int8_t *w, int32_t i) {
    int16_t weight;
    (void)memcpy(&weight, w + (2 * i), sizeof(weight));
    return weight;
}

/** The filter of channel c; w holds for every channel the weights of taps 00, 10, 01, 11, 02, 12,
 *  20, 21, 22 (row, column), of 16 bits each. */
static inline tinyrt_filter3 tinyrt_load_filter3_wide(const int8_t *w, int32_t c) {
    w += 18 * c;
    tinyrt_filter3 f = {{0}};
    for (int32_t kx = 0; kx < 3; ++kx) {
        f.w[kx] = tinyrt_wide_weight(w, 2 * kx);
        f.w[3 + kx] = tinyrt_wide_weight(w, (2 * kx) + 1);
        f.w[6 + kx] = tinyrt_wide_weight(w, 6 + kx);
    }
    return f;
}

/** Takes the weights of row r out; returns their sum, times factor. */
static inline int32_t tinyrt_drop_row3(tinyrt_filter3 *f, int32_t r, int32_t factor) {
    int32_t *const w = f->w + (3 * r);
    const int32_t sum = w[0] + w[1] + w[2];
    w[0] = 0, w[1] = 0, w[2] = 0;
    return sum * factor;
}

/** Takes the weights of the first row out; returns their sum, times factor. */
static inline int32_t tinyrt_drop_first3(tinyrt_filter3 *f, int32_t factor) {
    return tinyrt_drop_row3(f, 0, factor);
}

/** As tinyrt_drop_first3 for the last row. */
static inline int32_t tinyrt_drop_last3(tinyrt_filter3 *f, int32_t factor) {
    return tinyrt_drop_row3(f, 2, factor);
}

/** Doubles all weights. */
static inline void tinyrt_double3(tinyrt_filter3 *f) {
    for (int32_t i = 0; i < 9; ++i) {
        f->w[i] *= 2;
    }
}

static inline tinyrt_column3 tinyrt_load_column3(int32_t x0, int32_t x1, int32_t x2) {
    const tinyrt_column3 column = {{x0, x1, x2}};
    return column;
}

/** sum plus the products of column kx. */
static inline int32_t tinyrt_add_column3(const tinyrt_filter3 *f, int32_t kx, tinyrt_column3 x,
                                         int32_t sum) {
    return sum + (x.x[0] * f->w[kx]) + (x.x[1] * f->w[3 + kx]) + (x.x[2] * f->w[6 + kx]);
}

#endif
