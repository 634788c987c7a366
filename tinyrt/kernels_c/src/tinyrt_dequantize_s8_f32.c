#include "tinyrt_dequantize.h"

void tinyrt_dequantize_s8_f32(const tinyrt_dequantize_s8_f32_params *p, const int8_t *x,
                              float *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < p->size; ++i) {
        y[i] = p->scale * (float)(x[i] - p->x_zp);
    }
}
