#include "tinyrt_sigmoid_s16.h"

void tinyrt_tanh_s16(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y) {
    for (int32_t i = 0; i < p->size; ++i) {
        const int32_t position = tinyrt_sigmoid_position(p, x[i]);
        const int32_t magnitude = position < 0 ? -position : position;
        const int32_t value = tinyrt_sigmoid_at(p->table, magnitude, 8, 0xFFFF << 8) - (1 << 23);
        const int32_t half = 1 << 7;
        y[i] = (int16_t)((position >= 0 ? value + half : half - 1 - value) >> 8);
    }
}
