/** Products of int16 columns with four output channels' int8 weights, eight taps at a time. */
#ifndef TINYRT_DOT16_H
#define TINYRT_DOT16_H

#include "tinyrt_mve.h"

/** Taps whose sums fit 32 bits, whatever their values. */
#define TINYRT_DOT16_TAPS 504

/** Sets sum to the sums of four channels over a column of taps, a multiple of eight.
 *  w holds for every eight taps those of channel 0, of channel 1, and so on. Returns the end of w.
 */
static inline const int8_t *tinyrt_dot16(const int8_t *w, const int16_t *x, int32_t taps,
                                         int64_t sum[4]) {
    int64_t all0 = 0, all1 = 0, all2 = 0, all3 = 0;
    while (taps > 0) {
        const int32_t some = (taps < TINYRT_DOT16_TAPS) ? taps : TINYRT_DOT16_TAPS;
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (int32_t left = some >> 3; left > 0; --left, x += 8, w += 32) {
            const int16x8_t eight = vldrhq_s16(x);
            s0 = vmladavaq_s16(s0, eight, vldrbq_s16(w));
            s1 = vmladavaq_s16(s1, eight, vldrbq_s16(w + 8));
            s2 = vmladavaq_s16(s2, eight, vldrbq_s16(w + 16));
            s3 = vmladavaq_s16(s3, eight, vldrbq_s16(w + 24));
        }
        all0 += s0, all1 += s1, all2 += s2, all3 += s3;
        taps -= some;
    }
    sum[0] = all0, sum[1] = all1, sum[2] = all2, sum[3] = all3;
    return w;
}

#endif
