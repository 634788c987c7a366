#include "tinyrt_quantize.h"

#include <math.h>

#include "tinyrt_fixedpoint.h"

void tinyrt_quantize_f32_s8(const tinyrt_quantize_f32_s8_params *p, const float *x,
                            int8_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < p->size; ++i) {
        float steps = roundf(x[i] / p->scale);
        /* Any limit beyond 255 steps will do: it keeps the conversion to int32 defined. */
        steps = (steps > 512.0F) ? 512.0F : steps;
        steps = (steps < -512.0F) ? -512.0F : steps;
        y[i] = tinyrt_to_s8(isnan(steps) ? 0 : (int32_t)steps, p->y_zp, INT8_MIN, INT8_MAX);
    }
}
