#include "tinyrt_pool_f32.h"

#include "tinyrt_pool_walk.h"

/** One channel, of which x is the first element. */
static float folded(const tinyrt_pool2d_f32_params *p, tinyrt_function2 f, const tinyrt_area *area,
                    const float *x) {
    float so_far = p->start;
    for (int32_t row = 0; row < area->rows; ++row) {
        for (int32_t i = 0; i < area->columns; ++i) {
            so_far = f(so_far, x[(row * area->row_step) + (i * area->column_step)]);
        }
    }
    return (p->average != 0) ? (so_far / (float)(area->rows * area->columns)) : so_far;
}

void tinyrt_pool2d_f32(const tinyrt_pool2d_f32_params *p, tinyrt_function2 f, const float *input,
                       float *output) {
    TINYRT_POOL_WALK(
        p, input, output, float, for (int32_t c = 0; c < p->y.c; ++c) {
            y[c] = tinyrt_clampf(folded(p, f, &area, x + c), p->act_min, p->act_max);
        });
}
