#include "tinyrt_max_pool2d.h"

static int32_t largest(const int16_t *x, int32_t rows, int32_t columns, int32_t row_step,
                       int32_t column_step) {
    int32_t most = INT16_MIN;
    for (int32_t ky = 0; ky < rows; ++ky) {
        for (int32_t kx = 0; kx < columns; ++kx) {
            const int16_t value = x[(ky * row_step) + (kx * column_step)];
            most = (value > most) ? value : most;
        }
    }
    return most;
}

void tinyrt_max_pool2d_s16(const tinyrt_pool2d_s8_params *p, const int16_t *x, int16_t *y) {
    tinyrt_pool2d_s16(p, largest, x, y);
}
