#include "tinyrt_depthwise_wide_walk.h"

#include "tinyrt_mve_raised_s16.h"

/** Sums of four channels over a window's taps; x and w point at the first one. */
static inline int32x4_t four_sums(const tinyrt_window_taps *taps, const int16_t *x,
                                  const int8_t *w) {
    int32x4_t sums = vdupq_n_s32(0);
    for (int32_t rows = taps->rows; rows > 0; --rows, x += taps->x_row, w += taps->w_row) {
        const int16_t *x_tap = x;
        const int8_t *w_tap = w;
        for (int32_t left = taps->columns; left > 0; --left) {
            sums = vaddq_s32(sums, vmulq_s32(vldrhq_s32(x_tap), vldrbq_s32(w_tap)));
            x_tap += taps->x_step;
            w_tap += taps->w_step;
        }
    }
    return sums;
}

void tinyrt_depthwise_raised_s16(const tinyrt_depthwise_raised_s16_params *p, const int16_t *input,
                                 const int8_t *weights, const int32_t *bias,
                                 int16_t *TINYRT_RESTRICT y) {
    TINYRT_DEPTHWISE_WIDE_WALK(
        p, input, weights, for (int32_t c = 0; c < p->y.c; c += 4, x += 4, w += 4, y += 4) {
            const int32x4_t sums = four_sums(&taps, x, w);
            tinyrt_mve_raised_s16(&p->raised, bias, c, sums, vctp32q(4), y);
        });
}
