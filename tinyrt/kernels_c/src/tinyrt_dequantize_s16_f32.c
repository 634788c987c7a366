#include "tinyrt_dequantize.h"

void tinyrt_dequantize_s16_f32(int32_t size, float scale, const int16_t *x,
                               float *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < size; ++i) {
        y[i] = scale * (float)x[i];
    }
}
