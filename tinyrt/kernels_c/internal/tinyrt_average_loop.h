/** The mean under a window, where this is included: TINYRT_ELEMENT is the elements' type. */
#ifndef TINYRT_AVERAGE_LOOP_H
#define TINYRT_AVERAGE_LOOP_H

#include "tinyrt_window_sum.h"

/** The mean of rows by columns elements, of which x is the first, halves away from zero. */
static int32_t tinyrt_average(const TINYRT_ELEMENT *x, int32_t rows, int32_t columns,
                              int32_t row_step, int32_t column_step) {
    const int32_t count = rows * columns;
    const int32_t sum = tinyrt_sum_of_window(x, rows, columns, row_step, column_step);
    return ((sum > 0) ? (sum + (count / 2)) : (sum - (count / 2))) / count;
}

#endif
