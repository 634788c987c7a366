#include "tinyrt_clamp.h"

#include "tinyrt_float.h"

void tinyrt_clamp_f32(int32_t size, float low, float high, const float *x, float *y) {
    for (int32_t i = 0; i < size; ++i) {
        y[i] = tinyrt_clampf(x[i], low, high);
    }
}
