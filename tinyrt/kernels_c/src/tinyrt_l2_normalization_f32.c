#include "tinyrt_l2_normalization.h"

#include "tinyrt_float.h"

void tinyrt_l2_normalization_f32(int32_t rows, int32_t c, const float *x, float *y) {
    for (int32_t row = 0; row < rows; ++row) {
        float sum = 0.0F;
        for (int32_t i = 0; i < c; ++i) {
            sum = tinyrt_mlaf(sum, x[i], x[i]);
        }
        const float length = tinyrt_maxf(sqrtf(sum), 1e-6F);
        for (int32_t i = 0; i < c; ++i) {
            y[i] = x[i] / length;
        }
        x += c;
        y += c;
    }
}
