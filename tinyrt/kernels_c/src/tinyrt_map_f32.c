#include "tinyrt_map.h"

void tinyrt_map_f32(tinyrt_function f, int32_t size, const float *x, float *y) {
    for (int32_t i = 0; i < size; ++i) {
        y[i] = f(x[i]);
    }
}
