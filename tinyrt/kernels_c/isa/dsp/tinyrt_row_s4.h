/** Products of one row of activations, read where they lie, with four output channels whose weights
 *  have four bits. */
#ifndef TINYRT_ROW_S4_H
#define TINYRT_ROW_S4_H

#include "tinyrt_columns_s4.h"
#include "tinyrt_row.h"

/** A row's activations, and 16 times their sum. */
typedef struct {
    tinyrt_row row;
    int32_t x16;
} tinyrt_row_s4;

/** Requires: taps is not 0. */
static inline tinyrt_row_s4 tinyrt_row_s4_of(const int8_t *x, int32_t taps) {
    tinyrt_row_s4 narrow;
    narrow.row = tinyrt_row_of(x, taps);
    int32_t sum = tinyrt_sum_single(x, narrow.row.whole);
    sum = tinyrt_dot_pair(tinyrt_even_bytes(narrow.row.last), TINYRT_ONES, sum);
    narrow.x16 = 16 * tinyrt_dot_pair(tinyrt_odd_bytes(narrow.row.last), TINYRT_ONES, sum);
    return narrow;
}

/** Adds a row's products as tinyrt_dot_one_s4 does. Returns the end of w. */
static inline const int32_t *tinyrt_dot_of_row_s4(const int32_t *w, const tinyrt_row_s4 *narrow,
                                                  int32_t *acc) {
    const tinyrt_row *const row = &narrow->row;
    if (row->whole != 0) {
        w = tinyrt_dot_one_s4(w, row->x, row->whole, acc);
    }
    if (row->rest != 0) {
        tinyrt_dot_taps_s4((uint32_t)w[0], tinyrt_even_bytes(row->last), acc);
        tinyrt_dot_taps_s4((uint32_t)w[1], tinyrt_odd_bytes(row->last), acc);
        w += 2;
    }
    return w;
}

#endif
