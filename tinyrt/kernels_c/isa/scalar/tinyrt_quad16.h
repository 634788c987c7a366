/** Sums of four channels of int16 over a window's taps. */
#ifndef TINYRT_QUAD16_H
#define TINYRT_QUAD16_H

#include "tinyrt_window_taps.h"

/** The products of all taps with four channels' weights; x and w point at the first tap. Requires:
 *  at most 511 taps, whose sums fit 32 bits, whatever their values. */
static inline void tinyrt_quad16(const tinyrt_window_taps *taps, const int16_t *x, const int8_t *w,
                                 int32_t sum[4]) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int32_t ky = taps->rows; ky > 0; --ky, x += taps->x_row, w += taps->w_row) {
        const int16_t *x_tap = x;
        const int8_t *w_tap = w;
        for (int32_t kx = taps->columns; kx > 0;
             --kx, x_tap += taps->x_step, w_tap += taps->w_step) {
            s0 += x_tap[0] * w_tap[0];
            s1 += x_tap[1] * w_tap[1];
            s2 += x_tap[2] * w_tap[2];
            s3 += x_tap[3] * w_tap[3];
        }
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

#endif
