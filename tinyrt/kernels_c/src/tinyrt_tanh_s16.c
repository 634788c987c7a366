#include "tinyrt_sigmoid_s16.h"

void tinyrt_tanh_s16(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y) {
    for (int32_t i = 0; i < p->size; ++i) {
        y[i] = tinyrt_tanh_at(p, x[i]);
    }
}
