/** Products of int16 columns with four output channels' int8 weights, where this is included:
 * TINYRT_DOT16_TWO adds those of two taps to four sums. */
#ifndef TINYRT_DOT16_LOOP_H
#define TINYRT_DOT16_LOOP_H

#include "tinyrt_types.h"

/** Taps whose sums fit 32 bits, whatever their values. */
#define TINYRT_DOT16_TAPS 256

/** Sets sum to the sums of four channels over a column of taps, an even number.
 *  w holds for every two taps eight bytes: tap 0 of channels 0 and 1, tap 1 of both, then those of
 *  channels 2 and 3. Returns the end of w. */
static inline const int8_t *tinyrt_dot16(const int8_t *w, const int16_t *x, int32_t taps,
                                         int64_t sum[4]) {
    int64_t all0 = 0, all1 = 0, all2 = 0, all3 = 0;
    while (taps > 0) {
        const int32_t some = (taps < TINYRT_DOT16_TAPS) ? taps : TINYRT_DOT16_TAPS;
        const int16_t *const end = x + some;
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (; x != end; x += 2, w += 8) {
            TINYRT_DOT16_TWO(x, w, s0, s1, s2, s3);
        }
        all0 += s0, all1 += s1, all2 += s2, all3 += s3;
        taps -= some;
    }
    sum[0] = all0, sum[1] = all1, sum[2] = all2, sum[3] = all3;
    return w;
}

#endif
