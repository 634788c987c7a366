#include "tinyrt_max_pool2d.h"

#include "tinyrt_mve.h"
#include "tinyrt_pool_walk.h"

/** Channels of a vector. */
#define LANES 8

static void largest(const tinyrt_pool2d_s8_params *p, tinyrt_area area, const int16_t *x,
                    int16_t *y) {
    const int16x8_t act_min = vdupq_n_s16((int16_t)p->act_min);
    const int16x8_t act_max = vdupq_n_s16((int16_t)p->act_max);
    for (int32_t left = p->y.c; left > 0; left -= LANES, x += LANES, y += LANES) {
        const mve_pred16_t lanes = vctp16q((uint32_t)left);
        const int16_t *row = x;
        int16x8_t most = act_min;
        for (int32_t rows = area.rows; rows > 0; --rows, row += area.row_step) {
            const int16_t *tap = row;
            for (int32_t columns = area.columns; columns > 0; --columns, tap += area.column_step) {
                most = vmaxq_s16(most, vldrhq_z_s16(tap, lanes));
            }
        }
        vstrhq_p_s16(y, vminq_s16(most, act_max), lanes);
    }
}

void tinyrt_max_pool2d_s16(const tinyrt_pool2d_s8_params *p, const int16_t *input,
                           int16_t *output) {
    TINYRT_POOL_WALK(p, input, output, int16_t, largest(p, area, x, y));
}
