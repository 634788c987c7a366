/** The sum under a window, where this is included: TINYRT_ELEMENT is the elements' type. */
#ifndef TINYRT_WINDOW_SUM_H
#define TINYRT_WINDOW_SUM_H

#include "tinyrt_types.h"

/** The sum of rows by columns elements, of which x is the first. */
static inline int32_t tinyrt_sum_of_window(const TINYRT_ELEMENT *x, int32_t rows, int32_t columns,
                                           int32_t row_step, int32_t column_step) {
    int32_t sum = 0;
    for (int32_t ky = 0; ky < rows; ++ky, x += row_step) {
        const TINYRT_ELEMENT *tap = x;
        int32_t left = columns;
        for (; left >= 2; left -= 2, tap += 2 * column_step) {
            sum += tap[0] + tap[column_step];
        }
        sum += (left != 0) ? *tap : 0;
    }
    return sum;
}

#endif
