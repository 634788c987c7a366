/** Spectra of real signals, on the types of tinyrt_fft_loop.h. */
#ifndef TINYRT_RFFT_LOOP_H
#define TINYRT_RFFT_LOOP_H

#include "tinyrt_fft_loop.h"

/** The spectrum of a signal from that of its pairs of samples, in place: frequency 0 and count. */
static void tinyrt_rfft_ends(int32_t count, TINYRT_SCALAR *y) {
    const tinyrt_complex low = tinyrt_complex_part(y, 2);
    tinyrt_complex_store(y, low.r + low.i, 0);
    tinyrt_complex_store(y + (2 * count), low.r - low.i, 0);
}

#ifndef TINYRT_RFFT_PAIRS
#define TINYRT_RFFT_PAIRS tinyrt_rfft_pairs

/** Likewise frequency k and its counterpart. */
static void tinyrt_rfft_pair(int32_t k, int32_t count, const TINYRT_SCALAR *split,
                             TINYRT_SCALAR *y) {
    TINYRT_SCALAR *const other = y + (2 * (count - k));
    y += 2 * k;
    const tinyrt_complex near = tinyrt_complex_part(y, 2);
    const tinyrt_complex turned = tinyrt_complex_of(other[0], -(TINYRT_WIDE)other[1]);
    const tinyrt_complex far =
        tinyrt_complex_of(TINYRT_DIVIDE(turned.r, 2), TINYRT_DIVIDE(turned.i, 2));
    const tinyrt_complex both = tinyrt_complex_of(near.r + far.r, near.i + far.i);
    const tinyrt_complex rest = tinyrt_complex_of(near.r - far.r, near.i - far.i);
    const tinyrt_complex t = tinyrt_complex_mul(rest, split + (2 * (k - 1)));
    tinyrt_complex_store(y, TINYRT_HALF(both.r + t.r), TINYRT_HALF(both.i + t.i));
    tinyrt_complex_store(other, TINYRT_HALF(both.r - t.r), TINYRT_HALF(t.i - both.i));
}

/** Likewise all frequencies between. */
TINYRT_NOINLINE static void tinyrt_rfft_pairs(int32_t count, const TINYRT_SCALAR *split,
                                              TINYRT_SCALAR *y) {
    for (int32_t k = 1; (2 * k) <= count; ++k) {
        tinyrt_rfft_pair(k, count, split, y);
    }
}

#endif

#ifndef TINYRT_RFFT_ROUND
#define TINYRT_RFFT_ROUND tinyrt_rfft_round

/** Pairs of samples step apart, as many as the radix of a stage; zeros behind the last sample. */
static inline void tinyrt_rfft_round(int32_t radix, int32_t step, int32_t at, int32_t x_size,
                                     const TINYRT_SCALAR *x, TINYRT_SCALAR *y) {
    const int32_t whole = x_size / 2;
    for (; radix > 0; --radix, at += step, y += 2) {
        if (at < whole) {
            y[0] = x[2 * at];
            y[1] = x[(2 * at) + 1];
        } else {
            y[0] = ((2 * at) < x_size) ? x[2 * at] : 0;
            y[1] = 0;
        }
    }
}

#endif

/** All pairs of samples in the order of tinyrt_fft_next, a round of the innermost stage at a time.
 */
TINYRT_NOINLINE static void tinyrt_rfft_load(const tinyrt_signal_fft_params *p,
                                             const TINYRT_SCALAR *x, TINYRT_SCALAR *y) {
    const int32_t last = p->stages - 1;
    const int32_t radix = p->radix[last];
    /* A last but one stage of one round, where there is only one. */
    const int32_t rounds = (last > 0) ? p->radix[last - 1] : 1;
    const int32_t step = (last > 0) ? p->step[last - 1] : 0;
    int32_t digits[TINYRT_FFT_STAGES] = {0};
    for (int32_t i = 0, start = 0; i < p->count; i += radix * rounds) {
        for (int32_t round = 0; round < rounds; ++round, y += 2 * radix) {
            TINYRT_RFFT_ROUND(radix, p->step[last], start + (round * step), p->x_size, x, y);
        }
        start = tinyrt_fft_next(p, last - 2, digits, start);
    }
}

static void tinyrt_rfft(const tinyrt_signal_fft_params *p, const TINYRT_SCALAR *x,
                        const TINYRT_SCALAR *w, const TINYRT_SCALAR *split, TINYRT_SCALAR *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        tinyrt_rfft_load(p, x, y);
        tinyrt_fft_stages(p, w, y, 0);
        tinyrt_rfft_ends(p->count, y);
        TINYRT_RFFT_PAIRS(p->count, split, y);
        x += p->x_size;
        y += 2 * (p->count + 1);
    }
}

#endif
