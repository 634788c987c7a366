/** Products of one row of int16, read where it lies, with four output channels' int8 weights. */
#ifndef TINYRT_ROW16_H
#define TINYRT_ROW16_H

#include "tinyrt_types.h"

/** A row's activations. */
typedef struct {
    const int16_t *x;
    int32_t taps;
} tinyrt_row16;

static inline tinyrt_row16 tinyrt_row16_of(const int16_t *x, int32_t taps) {
    const tinyrt_row16 row = {x, taps};
    return row;
}

/** Sets sum to a row's products with four channels. w holds for every tap a word, the four weights.
 *  Requires: sums are below 2^31. Returns the end of w. */
static inline const int32_t *tinyrt_dot_row16(const int32_t *w, const tinyrt_row16 *row,
                                              int32_t sum[4]) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    const int16_t *x = row->x;
    const int8_t *bytes = (const int8_t *)w;
    for (const int16_t *const end = x + row->taps; x != end; ++x, bytes += 4) {
        const int32_t value = *x;
        s0 += value * bytes[0];
        s1 += value * bytes[1];
        s2 += value * bytes[2];
        s3 += value * bytes[3];
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
    return w + row->taps;
}

#endif
