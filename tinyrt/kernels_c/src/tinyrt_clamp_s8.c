#include "tinyrt_clamp.h"

#include "tinyrt_fixedpoint.h"

void tinyrt_clamp_s8(int32_t size, int32_t low, int32_t high, int8_t *y) {
    for (int32_t i = 0; i < size; ++i) {
        y[i] = (int8_t)tinyrt_clamp(y[i], low, high);
    }
}
