#include "tinyrt_cumsum.h"

static void sum_line(const tinyrt_cumsum_f32_params *p, int32_t first, int32_t step, const float *x,
                     float *y) {
    float sum = 0.0F;
    int32_t at = first;
    for (int32_t i = 0; i < p->depth; ++i) {
        const float next = sum + x[at];
        y[at] = p->exclusive ? sum : next;
        sum = next;
        at += step;
    }
}

void tinyrt_cumsum_f32(const tinyrt_cumsum_f32_params *p, const float *x, float *y) {
    const int32_t last = (p->depth - 1) * p->inner;
    for (int32_t outer = 0; outer < p->outer; ++outer) {
        for (int32_t inner = 0; inner < p->inner; ++inner) {
            const int32_t front = (outer * p->depth * p->inner) + inner;
            sum_line(p, p->reverse ? (front + last) : front, p->reverse ? -p->inner : p->inner, x,
                     y);
        }
    }
}
