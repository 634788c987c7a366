/** Products of one row of activations, read where they lie, with four output channels whose weights
 *  have four bits. */
#ifndef TINYRT_ROW_S4_H
#define TINYRT_ROW_S4_H

#include "tinyrt_columns_s4.h"

/** A row's activations, the words of weights that they meet, and 16 times their sum. */
typedef struct {
    const int8_t *x;
    int32_t taps;
    int32_t words;
    int32_t x16;
} tinyrt_row_s4;

/** Requires: taps is not 0. */
static inline tinyrt_row_s4 tinyrt_row_s4_of(const int8_t *x, int32_t taps) {
    tinyrt_row_s4 row = {x, taps, 2 * ((taps + 3) / 4), 0};
    for (int32_t i = 0; i < taps; ++i) {
        row.x16 += 16 * x[i];
    }
    return row;
}

/** Adds a row's products as tinyrt_dot_one_s4 does. Returns the end of w. */
static inline const int32_t *tinyrt_dot_of_row_s4(const int32_t *w, const tinyrt_row_s4 *row,
                                                  int32_t *acc) {
    tinyrt_dot_row_s4(w, row->x, row->taps, acc);
    return w + row->words;
}

#endif
