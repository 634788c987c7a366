#include "tinyrt_average_pool2d.h"

#include "tinyrt_mve.h"

/** Channels of a block: int16 lanes of a vector. */
#define LANES 8

/** Elements whose sum fits into 16 bits. */
#define MOST_SHORT 255

/** Elements up to which a reciprocal of 32 bits gives exact quotients: 128.5 * count^2 < 2^32. */
#define MOST_RECIPROCAL 5780

/** Taps under the window, and the reciprocal of their number. */
typedef struct {
    int32_t rows;
    int32_t columns;
    int32_t row_step;
    int32_t step;
    int32_t count;
    uint32_t reciprocal;
} tinyrt_taps;

/** x / count, halves away from zero. */
static int32x4_t divide(const tinyrt_taps *taps, int32x4_t x) {
    int32x4_t rounded = vaddq_n_s32(vabsq_s32(x), taps->count / 2);
    if (taps->count == 1) {
        return x;
    }
    if (taps->count < MOST_RECIPROCAL) {
        const uint32x4_t numerator = vreinterpretq_u32_s32(rounded);
        const uint32x4_t factor = vdupq_n_u32(taps->reciprocal);
        rounded = vreinterpretq_s32_u32(vmulhq_u32(numerator, factor));
    } else {
        for (int lane = 0; lane < 4; ++lane) {
            int32_t lanes[4];
            vstrwq_s32(lanes, rounded);
            lanes[lane] /= taps->count;
            rounded = vldrwq_s32(lanes);
        }
    }
    return vnegq_m_s32(rounded, rounded, vcmpltq_n_s32(x, 0));
}

/** One output position, up to eight channels. */
static void average(const tinyrt_pool2d_s8_params *p, const tinyrt_taps *taps, const int8_t *x,
                    mve_pred16_t lanes, int8_t *y) {
    int32x4_t even = vdupq_n_s32(0);
    int32x4_t odd = even;
    for (int32_t row = 0; row < taps->rows; ++row) {
        const int8_t *tap = x + (row * taps->row_step);
        for (int32_t left = taps->columns; left > 0; left -= MOST_SHORT) {
            int16x8_t sum = vdupq_n_s16(0);
            for (int32_t i = (left < MOST_SHORT) ? left : MOST_SHORT; i > 0; --i) {
                sum = vaddq_s16(sum, vldrbq_z_s16(tap, lanes));
                tap += taps->step;
            }
            even = vaddq_s32(even, vmovlbq_s16(sum));
            odd = vaddq_s32(odd, vmovltq_s16(sum));
        }
    }
    int16x8_t value = vmovnbq_s32(vdupq_n_s16(0), divide(taps, even));
    value = vmovntq_s32(value, divide(taps, odd));
    value = vmaxq_s16(value, vdupq_n_s16((int16_t)p->act_min));
    vstrbq_p_s16(y, vminq_s16(value, vdupq_n_s16((int16_t)p->act_max)), lanes);
}

/** The taps at one output position; whole rows of the input are one row of taps. */
static tinyrt_taps taps_at(const tinyrt_pool2d_s8_params *p, tinyrt_range ky, tinyrt_range kx) {
    tinyrt_taps taps = {.rows = ky.end - ky.begin,
                        .columns = kx.end - kx.begin,
                        .row_step = p->x.w * p->x.c,
                        .step = p->x.c};
    taps.count = taps.rows * taps.columns;
    taps.reciprocal = UINT32_MAX / (uint32_t)taps.count + 1;
    if (taps.columns == p->x.w) {
        taps.columns = taps.count;
        taps.rows = 1;
    }
    return taps;
}

void tinyrt_average_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = (oy * window->stride_h) - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const int32_t x0 = (ox * window->stride_w) - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                const int8_t *first = x + (y0 + ky.begin) * row_step + (x0 + kx.begin) * p->x.c;
                const tinyrt_taps taps = taps_at(p, ky, kx);
                TINYRT_ASSERT(taps.count > 0);
                for (int32_t c = 0; c < p->y.c; c += LANES) {
                    average(p, &taps, first + c, vctp16q((uint32_t)(p->y.c - c)), y + c);
                }
                y += p->y.c;
            }
        }
        x += p->x.h * row_step;
    }
}
