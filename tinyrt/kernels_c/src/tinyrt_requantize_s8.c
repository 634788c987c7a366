#include "tinyrt_requantize.h"

#include "tinyrt_fixedpoint.h"

void tinyrt_requantize_s8(const tinyrt_requantize_s8_params *p, const int8_t *x, int8_t *y) {
    for (int32_t i = 0; i < p->size; ++i) {
        const int32_t value = tinyrt_requant(x[i] - p->x_zp, p->y_mult, p->y_shift) + p->y_zp;
        y[i] = (int8_t)tinyrt_clamp(value, INT8_MIN, INT8_MAX);
    }
}
