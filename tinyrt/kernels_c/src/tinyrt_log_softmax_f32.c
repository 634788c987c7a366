#include "tinyrt_softmax.h"

#include "tinyrt_float.h"

void tinyrt_log_softmax_f32(int32_t rows, int32_t c, const float *x, float *y) {
    for (int32_t row = 0; row < rows; ++row) {
        float most = x[0];
        for (int32_t i = 1; i < c; ++i) {
            most = tinyrt_maxf(x[i], most);
        }
        float sum = expf(x[0] - most);
        for (int32_t i = 1; i < c; ++i) {
            sum += expf(x[i] - most);
        }
        const float log_sum = logf(sum);
        for (int32_t i = 0; i < c; ++i) {
            y[i] = x[i] - most - log_sum;
        }
        x += c;
        y += c;
    }
}
