/** Sums of four channels of int16 over a window's taps, in a vector. */
#ifndef TINYRT_QUAD16_H
#define TINYRT_QUAD16_H

#include "tinyrt_mve.h"
#include "tinyrt_window_taps.h"

/** The products of all taps with four channels' weights; x and w point at the first tap. Requires:
 *  at most 511 taps, whose sums fit 32 bits, whatever their values. */
static inline void tinyrt_quad16(const tinyrt_window_taps *taps, const int16_t *x, const int8_t *w,
                                 int32_t sum[4]) {
    int32x4_t sums = vdupq_n_s32(0);
    for (int32_t ky = taps->rows; ky > 0; --ky, x += taps->x_row, w += taps->w_row) {
        const int16_t *x_tap = x;
        const int8_t *w_tap = w;
        for (int32_t kx = taps->columns; kx > 0; --kx) {
            sums = vaddq_s32(sums, vmulq_s32(vldrhq_s32(x_tap), vldrbq_s32(w_tap)));
            x_tap += taps->x_step;
            w_tap += taps->w_step;
        }
    }
    vstrwq_s32(sum, sums);
}

#endif
