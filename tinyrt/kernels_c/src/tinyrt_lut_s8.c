#include "tinyrt_lut.h"

void tinyrt_lut_s8(const int8_t *table, int32_t size, const int8_t *x, int8_t *y) {
    for (int32_t i = 0; i < size; ++i) {
        y[i] = table[(uint8_t)x[i]];
    }
}
