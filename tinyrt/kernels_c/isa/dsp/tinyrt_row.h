/** Products of one row of activations, read where they lie, with four output channels at a time. */
#ifndef TINYRT_ROW_H
#define TINYRT_ROW_H

#include "tinyrt_columns.h"

/** Output channels that are computed together. */
#define TINYRT_ROW_CHANNELS 4

/** A row's activations: as many as words hold, and those left over in a word of their own. */
typedef struct {
    const int8_t *x;
    int32_t whole;
    int32_t rest;
    uint32_t last;
} tinyrt_row;

/** Requires: taps is not 0. */
static inline tinyrt_row tinyrt_row_of(const int8_t *x, int32_t taps) {
    tinyrt_row row = {x, taps & ~3, taps & 3, 0};
    for (int32_t i = taps; i > row.whole; --i) {
        row.last = (row.last << 8) | (uint8_t)x[i - 1];
    }
    return row;
}

/** Adds a row's products as tinyrt_dot_one does. Returns the end of w. */
static inline const int32_t *tinyrt_dot_row(const int32_t *w, const tinyrt_row *row, int32_t *acc) {
    if (row->whole != 0) {
        w = tinyrt_dot_one(w, row->x, row->whole, acc);
    }
    if (row->rest != 0) {
        tinyrt_dot_taps(w, tinyrt_even_bytes(row->last), acc);
        tinyrt_dot_taps(w + 2, tinyrt_odd_bytes(row->last), acc);
        w += 4;
    }
    return w;
}

/** The same, of so many channels: there are always four. */
static inline const int32_t *tinyrt_dot_channels(const int32_t *w, const tinyrt_row *row,
                                                 int32_t channels, int32_t *acc) {
    (void)channels;
    return tinyrt_dot_row(w, row, acc);
}

#endif
