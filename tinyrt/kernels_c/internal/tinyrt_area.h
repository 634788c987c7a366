/** Elements of one channel that lie in rows and columns. */
#ifndef TINYRT_AREA_H
#define TINYRT_AREA_H

#include "tinyrt_types.h"

/** How many there are, and how far apart. */
typedef struct {
    int32_t rows;
    int32_t columns;
    int32_t row_step;
    int32_t column_step;
} tinyrt_area;

/** The sum of an area's elements, of which x is the first. */
static inline int32_t tinyrt_sum_of_area(tinyrt_area area, const int8_t *x) {
    int32_t sum = 0;
    for (; area.rows > 0; --area.rows, x += area.row_step) {
        for (int32_t i = 0; i < area.columns; ++i) {
            sum += x[i * area.column_step];
        }
    }
    return sum;
}

/** The same, two elements of a row at a time: fewer instructions, and more code. */
static inline int32_t tinyrt_sum_of_pairs(tinyrt_area area, const int8_t *x) {
    int32_t sum = 0;
    for (int32_t i = 0; i < area.rows; ++i, x += area.row_step) {
        const int8_t *next = x;
        int32_t left = area.columns;
        for (; left >= 2; left -= 2, next += 2 * area.column_step) {
            sum += next[0] + next[area.column_step];
        }
        sum += (left != 0) ? *next : 0;
    }
    return sum;
}

#endif
