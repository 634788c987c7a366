#include "tinyrt_average_pool2d.h"

#define TINYRT_ELEMENT int8_t
#include "tinyrt_window_sum.h"

/** The mean of values 128 higher, none of which is negative: halves up. */
static int32_t average_up(const int8_t *x, int32_t rows, int32_t columns, int32_t row_step,
                          int32_t column_step) {
    const int32_t count = rows * columns;
    const int32_t sum = tinyrt_sum_of_window(x, rows, columns, row_step, column_step);
    return ((sum + (128 * count) + (count / 2)) / count) - 128;
}

void tinyrt_average_legacy_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y) {
    tinyrt_pool2d(p, average_up, x, y);
}
