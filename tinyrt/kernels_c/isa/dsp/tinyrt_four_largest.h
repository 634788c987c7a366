/** The largest elements of an area, of four neighbouring channels at a time. */
#ifndef TINYRT_FOUR_LARGEST_H
#define TINYRT_FOUR_LARGEST_H

#include "tinyrt_area.h"
#include "tinyrt_simd.h"

/** A limit of outputs, as four channels need it. */
typedef uint32_t tinyrt_four_limit;

static inline tinyrt_four_limit tinyrt_four_limit_of(int32_t value) {
    return tinyrt_four_times(value);
}

/** y = clamp(max) of four channels' areas, of which x is the first element. */
static inline void tinyrt_four_largest(tinyrt_area area, tinyrt_four_limit low,
                                       tinyrt_four_limit high, const int8_t *x, int8_t *y) {
    uint32_t most = low;
    for (; area.rows > 0; --area.rows, x += area.row_step) {
        const int8_t *tap = x;
        for (int32_t left = area.columns; left > 0; --left, tap += area.column_step) {
            most = tinyrt_max_bytes(most, tinyrt_load_word(tap));
        }
    }
    tinyrt_store_word(y, tinyrt_min_bytes(most, high));
}

#endif
