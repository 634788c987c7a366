#include "tinyrt_average_pool2d.h"

#include "tinyrt_mve.h"
#include "tinyrt_pool_walk.h"

/** Channels of a vector. */
#define LANES 8

/** Elements up to which a reciprocal of 32 bits gives exact quotients: 2^15 * count^2 +
 *  count^2 / 2 <= 2^32. */
#define MOST_RECIPROCAL 362

/** The number of elements under a window, and its reciprocal. */
typedef struct {
    uint32_t count;
    uint32_t reciprocal;
} tinyrt_divisor;

/** Means of four sums, halves away from zero; one element is its own. */
static inline int32x4_t means(tinyrt_divisor divisor, int32x4_t sum) {
    const uint32x4_t size = vreinterpretq_u32_s32(vabsq_s32(sum));
    uint32x4_t mean = vaddq_n_u32(size, divisor.count / 2U);
    if (divisor.count == 1U) {
        return sum;
    }
    if (divisor.count <= MOST_RECIPROCAL) {
        mean = vmulhq_u32(mean, vdupq_n_u32(divisor.reciprocal));
    } else {
        uint32_t lanes[4];
        vstrwq_u32(lanes, mean);
        for (int32_t i = 0; i < 4; ++i) {
            lanes[i] /= divisor.count;
        }
        mean = vldrwq_u32(lanes);
    }
    const int32x4_t found = vreinterpretq_s32_u32(mean);
    return vnegq_m_s32(found, found, vcmpltq_n_s32(sum, 0));
}

static void averages(const tinyrt_pool2d_s8_params *p, tinyrt_area area, const int16_t *x,
                     int16_t *y) {
    const uint32_t count = (uint32_t)(area.rows * area.columns);
    const tinyrt_divisor divisor = {count, (UINT32_MAX / count) + 1U};
    const int16x8_t act_min = vdupq_n_s16((int16_t)p->act_min);
    const int16x8_t act_max = vdupq_n_s16((int16_t)p->act_max);
    for (int32_t left = p->y.c; left > 0; left -= LANES, x += LANES, y += LANES) {
        const mve_pred16_t lanes = vctp16q((uint32_t)left);
        const int16_t *row = x;
        int32x4_t even = vdupq_n_s32(0);
        int32x4_t odd = even;
        for (int32_t rows = area.rows; rows > 0; --rows, row += area.row_step) {
            const int16_t *tap = row;
            for (int32_t columns = area.columns; columns > 0; --columns, tap += area.column_step) {
                const int16x8_t eight = vldrhq_z_s16(tap, lanes);
                even = vaddq_s32(even, vmovlbq_s16(eight));
                odd = vaddq_s32(odd, vmovltq_s16(eight));
            }
        }
        int16x8_t mean = vmovnbq_s32(vdupq_n_s16(0), means(divisor, even));
        mean = vmovntq_s32(mean, means(divisor, odd));
        vstrhq_p_s16(y, vminq_s16(vmaxq_s16(mean, act_min), act_max), lanes);
    }
}

void tinyrt_average_pool2d_s16(const tinyrt_pool2d_s8_params *p, const int16_t *input,
                               int16_t *output) {
    TINYRT_POOL_WALK(p, input, output, int16_t, averages(p, area, x, y));
}
