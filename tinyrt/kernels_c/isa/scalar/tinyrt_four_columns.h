/** Sums over rows and columns, four neighbouring channels at a time. */
#ifndef TINYRT_FOUR_COLUMNS_H
#define TINYRT_FOUR_COLUMNS_H

#include "tinyrt_area.h"

/** Adds the elements of an area, of which x is the first, to four channels' sums. */
static inline void tinyrt_add_four_columns(tinyrt_area area, const int8_t *x, int32_t *sums) {
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    for (; area.rows > 0; --area.rows, x += area.row_step) {
        const int8_t *tap = x;
        for (int32_t left = area.columns; left > 0; --left, tap += area.column_step) {
            a += tap[0];
            b += tap[1];
            c += tap[2];
            d += tap[3];
        }
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

#endif
