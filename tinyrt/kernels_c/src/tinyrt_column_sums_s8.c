#include "tinyrt_column_sums.h"

void tinyrt_column_sums_s8(int32_t pixels, int32_t channels, const int8_t *x, int32_t *sums) {
    const int32_t *const end = sums + channels;
    for (; sums != end; ++sums, ++x) {
        const int8_t *tap = x;
        int32_t sum = *sums;
        if ((pixels & 1) != 0) {
            sum += *tap;
            tap += channels;
        }
        for (const int8_t *const stop = x + (pixels * channels); tap != stop; tap += 2 * channels) {
            sum += tap[0];
            sum += tap[channels];
        }
        *sums = sum;
    }
}
