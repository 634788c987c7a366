#include "tinyrt_average_pool2d.h"

#include "tinyrt_mve.h"
#include "tinyrt_pool_walk.h"

/** Channels of a vector of sums. */
#define LANES 8

/** Means, halves away from zero; one element is its own. Sums and their quotients by a reciprocal
 *  of 16 bits are exact: 128 * count + count / 2 < 2^16 / count. */
static void means(const tinyrt_pool2d_s8_params *p, tinyrt_area area, const int8_t *x, int8_t *y) {
    const uint32_t count = (uint32_t)(area.rows * area.columns);
    const uint16x8_t reciprocal = vdupq_n_u16((uint16_t)((UINT16_MAX / count) + 1U));
    const int16x8_t act_min = vdupq_n_s16((int16_t)p->act_min);
    const int16x8_t act_max = vdupq_n_s16((int16_t)p->act_max);
    for (int32_t left = p->y.c; left > 0; left -= LANES, x += LANES, y += LANES) {
        const mve_pred16_t lanes = vctp16q((uint32_t)left);
        const int8_t *row = x;
        int16x8_t sum = vdupq_n_s16(0);
        for (int32_t rows = area.rows; rows > 0; --rows, row += area.row_step) {
            const int8_t *tap = row;
            for (int32_t columns = area.columns; columns > 0; --columns, tap += area.column_step) {
                sum = vaddq_s16(sum, vldrbq_z_s16(tap, lanes));
            }
        }
        if (count > 1) {
            const uint16x8_t size = vreinterpretq_u16_s16(vabsq_s16(sum));
            const uint16x8_t half = vdupq_n_u16((uint16_t)(count / 2U));
            const mve_pred16_t negative = vcmpltq_n_s16(sum, 0);
            sum = vreinterpretq_s16_u16(vmulhq_u16(vaddq_u16(size, half), reciprocal));
            sum = vnegq_m_s16(sum, sum, negative);
        }
        vstrbq_p_s16(y, vminq_s16(vmaxq_s16(sum, act_min), act_max), lanes);
    }
}

void tinyrt_average_few_s8(const tinyrt_pool2d_s8_params *p, const int8_t *input, int8_t *output) {
    TINYRT_POOL_WALK(p, input, output, int8_t, means(p, area, x, y));
}
