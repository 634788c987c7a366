/** Real signals of spectra, on the types of tinyrt_fft_loop.h. */
#ifndef TINYRT_IRFFT_LOOP_H
#define TINYRT_IRFFT_LOOP_H

#include "tinyrt_fft_loop.h"

/** The spectrum of pairs of samples from that of the signal: the one at a place. */
static tinyrt_complex tinyrt_irfft_at(int32_t at, int32_t count, const TINYRT_SCALAR *split,
                                      const TINYRT_SCALAR *x) {
    if (at == 0) {
        const TINYRT_WIDE last = x[2 * count];
        const tinyrt_complex z = tinyrt_complex_of(x[0] + last, x[0] - last);
        return tinyrt_complex_of(TINYRT_DIVIDE(z.r, 2), TINYRT_DIVIDE(z.i, 2));
    }
    const int32_t is_near = (2 * at) < count;
    const int32_t k = is_near ? at : (count - at);
    const TINYRT_SCALAR *const other = x + (2 * (count - k));
    const tinyrt_complex near = tinyrt_complex_part(x + (2 * k), 2);
    const tinyrt_complex turned = tinyrt_complex_of(other[0], -(TINYRT_WIDE)other[1]);
    const tinyrt_complex far =
        tinyrt_complex_of(TINYRT_DIVIDE(turned.r, 2), TINYRT_DIVIDE(turned.i, 2));
    const tinyrt_complex even = tinyrt_complex_of(near.r + far.r, near.i + far.i);
    const tinyrt_complex rest = tinyrt_complex_of(near.r - far.r, near.i - far.i);
    const tinyrt_complex odd = tinyrt_complex_mul(rest, split + (2 * (k - 1)));
    if (is_near != 0) {
        return tinyrt_complex_of(even.r + odd.r, even.i + odd.i);
    }
    return tinyrt_complex_of(even.r - odd.r, odd.i - even.i);
}

static void tinyrt_irfft(const tinyrt_signal_fft_params *p, const TINYRT_SCALAR *x,
                         const TINYRT_SCALAR *w, const TINYRT_SCALAR *split, TINYRT_SCALAR *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        int32_t digits[TINYRT_FFT_STAGES] = {0};
        for (int32_t i = 0, at = 0; i < p->count; ++i) {
            const tinyrt_complex z = tinyrt_irfft_at(at, p->count, split, x);
            tinyrt_complex_store(y + (2 * i), z.r, z.i);
            at = tinyrt_fft_next(p, p->stages - 1, digits, at);
        }
        tinyrt_fft_stages(p, w, y, 1);
        x += p->x_size;
        y += 2 * p->count;
    }
}

#endif
