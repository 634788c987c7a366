#include "tinyrt_max_pool2d.h"

#include "tinyrt_mve.h"
#include "tinyrt_pool_walk.h"

/** Sixteen channels of one output, or the lanes of them that there are. */
static int8x16_t largest(const tinyrt_area *area, const int8_t *x, mve_pred16_t lanes) {
    int8x16_t most = vdupq_n_s8(INT8_MIN);
    for (int32_t row = 0; row < area->rows; ++row) {
        const int8_t *tap = x + (row * area->row_step);
        for (int32_t left = area->columns; left > 0; --left) {
            most = vmaxq_s8(most, vldrbq_z_s8(tap, lanes));
            tap += area->column_step;
        }
    }
    return most;
}

void tinyrt_max_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *input, int8_t *output) {
    const int8x16_t act_min = vdupq_n_s8((int8_t)p->act_min);
    const int8x16_t act_max = vdupq_n_s8((int8_t)p->act_max);
    TINYRT_POOL_WALK(
        p, input, output, int8_t, for (int32_t c = 0; c < p->y.c; c += TINYRT_VECTOR) {
            const mve_pred16_t lanes = vctp8q((uint32_t)(p->y.c - c));
            const int8x16_t most = largest(&area, x + c, lanes);
            vstrbq_p_s8(y + c, vminq_s8(vmaxq_s8(most, act_min), act_max), lanes);
        });
}
