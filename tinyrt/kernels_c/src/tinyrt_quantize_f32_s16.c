#include "tinyrt_quantize.h"

#include <math.h>

void tinyrt_quantize_f32_s16(int32_t size, float scale, const float *x,
                             int16_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < size; ++i) {
        float steps = roundf(x[i] / scale);
        steps = (steps > 32767.0F) ? 32767.0F : steps;
        steps = (steps < -32768.0F) ? -32768.0F : steps;
        y[i] = (int16_t)(isnan(steps) ? 0.0F : steps);
    }
}
