/** The largest elements of an area, of four neighbouring channels at a time. */
#ifndef TINYRT_FOUR_LARGEST_H
#define TINYRT_FOUR_LARGEST_H

#include "tinyrt_area.h"

static inline int32_t tinyrt_larger(int32_t a, int32_t b) {
    return (a > b) ? a : b;
}

static inline int32_t tinyrt_smaller(int32_t a, int32_t b) {
    return (a < b) ? a : b;
}

/** A limit of outputs, as four channels need it. */
typedef int32_t tinyrt_four_limit;

static inline tinyrt_four_limit tinyrt_four_limit_of(int32_t value) {
    return value;
}

/** y = clamp(max) of four channels' areas, of which x is the first element. */
static inline void tinyrt_four_largest(tinyrt_area area, tinyrt_four_limit low,
                                       tinyrt_four_limit high, const int8_t *x, int8_t *y) {
    int32_t first = low;
    int32_t second = low;
    int32_t third = low;
    int32_t fourth = low;
    for (; area.rows > 0; --area.rows, x += area.row_step) {
        const int8_t *tap = x;
        for (int32_t left = area.columns; left > 0; --left, tap += area.column_step) {
            first = tinyrt_larger(tap[0], first);
            second = tinyrt_larger(tap[1], second);
            third = tinyrt_larger(tap[2], third);
            fourth = tinyrt_larger(tap[3], fourth);
        }
    }
    y[0] = (int8_t)tinyrt_smaller(first, high);
    y[1] = (int8_t)tinyrt_smaller(second, high);
    y[2] = (int8_t)tinyrt_smaller(third, high);
    y[3] = (int8_t)tinyrt_smaller(fourth, high);
}

#endif
