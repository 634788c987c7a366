#include "tinyrt_average_pool2d.h"

#include "tinyrt_mve.h"
#include "tinyrt_pool_walk.h"

/** Channels of a block: int16 lanes of a vector. */
#define LANES 8

/** Elements whose sum fits into 16 bits. */
#define MOST_SHORT 255

/** Elements up to which a reciprocal of 32 bits gives exact quotients: 128.5 * count^2 < 2^32. */
#define MOST_RECIPROCAL 5780

/** Elements under the window, and the reciprocal of their number. */
typedef struct {
    tinyrt_area area;
    int32_t count;
    uint32_t reciprocal;
} under_window;

/** x / count, halves away from zero. */
static int32x4_t divide(const under_window *under, int32x4_t x) {
    int32x4_t rounded = vaddq_n_s32(vabsq_s32(x), under->count / 2);
    if (under->count == 1) {
        return x;
    }
    if (under->count < MOST_RECIPROCAL) {
        const uint32x4_t numerator = vreinterpretq_u32_s32(rounded);
        const uint32x4_t factor = vdupq_n_u32(under->reciprocal);
        rounded = vreinterpretq_s32_u32(vmulhq_u32(numerator, factor));
    } else {
        for (int lane = 0; lane < 4; ++lane) {
            int32_t lanes[4];
            vstrwq_s32(lanes, rounded);
            lanes[lane] /= under->count;
            rounded = vldrwq_s32(lanes);
        }
    }
    return vnegq_m_s32(rounded, rounded, vcmpltq_n_s32(x, 0));
}

/** One output position, up to eight channels. */
static void average(const tinyrt_pool2d_s8_params *p, const under_window *under, const int8_t *x,
                    mve_pred16_t lanes, int8_t *y) {
    int32x4_t even = vdupq_n_s32(0);
    int32x4_t odd = even;
    for (int32_t row = 0; row < under->area.rows; ++row) {
        const int8_t *tap = x + (row * under->area.row_step);
        for (int32_t left = under->area.columns; left > 0; left -= MOST_SHORT) {
            int16x8_t sum = vdupq_n_s16(0);
            for (int32_t i = (left < MOST_SHORT) ? left : MOST_SHORT; i > 0; --i) {
                sum = vaddq_s16(sum, vldrbq_z_s16(tap, lanes));
                tap += under->area.column_step;
            }
            even = vaddq_s32(even, vmovlbq_s16(sum));
            odd = vaddq_s32(odd, vmovltq_s16(sum));
        }
    }
    int16x8_t value = vmovnbq_s32(vdupq_n_s16(0), divide(under, even));
    value = vmovntq_s32(value, divide(under, odd));
    value = vmaxq_s16(value, vdupq_n_s16((int16_t)p->act_min));
    vstrbq_p_s16(y, vminq_s16(value, vdupq_n_s16((int16_t)p->act_max)), lanes);
}

/** Whole rows of the input are one row of elements. */
static under_window under_window_of(tinyrt_area area, int32_t width) {
    under_window under = {.area = area, .count = area.rows * area.columns};
    under.reciprocal = UINT32_MAX / (uint32_t)under.count + 1;
    if (area.columns == width) {
        under.area.columns = under.count;
        under.area.rows = 1;
    }
    return under;
}

/** All channels of one output. */
static void all_channels(const tinyrt_pool2d_s8_params *p, tinyrt_area area, const int8_t *x,
                         int8_t *y) {
    const under_window under = under_window_of(area, p->x.w);
    for (int32_t c = 0; c < p->y.c; c += LANES) {
        average(p, &under, x + c, vctp16q((uint32_t)(p->y.c - c)), y + c);
    }
}

void tinyrt_average_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *input,
                              int8_t *output) {
    TINYRT_POOL_WALK(p, input, output, int8_t, all_channels(p, area, x, y));
}
