#include "tinyrt_column_sums.h"

void tinyrt_column_sums_s8(int32_t pixels, int32_t channels, const int8_t *x, int32_t *sums) {
    const int32_t *const end = sums + channels;
    for (; sums != end; ++sums, ++x) {
        const int8_t *tap = x;
        int32_t sum = *sums;
        for (int32_t left = pixels; left != 0; --left, tap += channels) {
            sum += *tap;
        }
        *sums = sum;
    }
}
