/** Products of one row of activations, read where they lie, with eight output channels at a time.
 */
#ifndef TINYRT_ROW_H
#define TINYRT_ROW_H

#include "tinyrt_dot_eight.h"
#include "tinyrt_dot_four.h"

/** Output channels that are computed together. */
#define TINYRT_ROW_CHANNELS 8

/** A row's activations. */
typedef struct {
    const int8_t *x;
    int32_t taps;
} tinyrt_row;

/** Requires: taps is not 0. */
static inline tinyrt_row tinyrt_row_of(const int8_t *x, int32_t taps) {
    const tinyrt_row row = {x, taps};
    return row;
}

/** Adds a row's products as tinyrt_dot_eight does, whose registers no caller shares. Returns the
 * end of w. */
static TINYRT_NOINLINE const int32_t *tinyrt_dot_row(const int32_t *w, const tinyrt_row *row,
                                                     int32_t *acc) {
    return tinyrt_dot_eight(w, row->x, row->taps, acc);
}

/** The same, of so many channels: of four, w holds a word for every tap. */
static inline const int32_t *tinyrt_dot_channels(const int32_t *w, const tinyrt_row *row,
                                                 int32_t channels, int32_t *acc) {
    if (channels == TINYRT_ROW_CHANNELS) {
        return tinyrt_dot_row(w, row, acc);
    }
    return tinyrt_dot_four(w, row->x, row->taps, acc);
}

#endif
