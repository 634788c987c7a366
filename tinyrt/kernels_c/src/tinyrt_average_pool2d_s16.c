#include "tinyrt_average_pool2d.h"

static int32_t average(const int16_t *x, int32_t rows, int32_t columns, int32_t row_step,
                       int32_t column_step) {
    const int32_t count = rows * columns;
    int32_t sum = 0;
    for (int32_t ky = 0; ky < rows; ++ky, x += row_step) {
        const int16_t *tap = x;
        int32_t left = columns;
        for (; left >= 2; left -= 2, tap += 2 * column_step) {
            sum += tap[0] + tap[column_step];
        }
        sum += left != 0 ? *tap : 0;
    }
    return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

void tinyrt_average_pool2d_s16(const tinyrt_pool2d_s8_params *p, const int16_t *x, int16_t *y) {
    tinyrt_pool2d_s16(p, average, x, y);
}
