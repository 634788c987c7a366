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

#endif
