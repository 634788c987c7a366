/** Transforms of real signals, where this is included: TINYRT_SCALAR is the elements' type, and
 *  TINYRT_WIDE one that holds their products. TINYRT_ROUND makes an element of a product of an
 *  element and a fraction, TINYRT_DIVIDE divides an integer by a radix, TINYRT_HALF halves a sum.
 *  Sums are cut to TINYRT_SCALAR before they are multiplied or stored. A core's own functions for
 *  int16 take the place of TINYRT_FFT_FOURS and TINYRT_RFFT_PAIRS. */
#ifndef TINYRT_FFT_LOOP_H
#define TINYRT_FFT_LOOP_H

#include "tinyrt_signal_fft.h"

/** A complex number. */
typedef struct {
    TINYRT_WIDE r;
    TINYRT_WIDE i;
} tinyrt_complex;

static inline tinyrt_complex tinyrt_complex_of(TINYRT_WIDE r, TINYRT_WIDE i) {
    const tinyrt_complex z = {(TINYRT_SCALAR)r, (TINYRT_SCALAR)i};
    return z;
}

static inline void tinyrt_complex_store(TINYRT_SCALAR *y, TINYRT_WIDE r, TINYRT_WIDE i) {
    y[0] = (TINYRT_SCALAR)r;
    y[1] = (TINYRT_SCALAR)i;
}

/** x * w. */
static inline tinyrt_complex tinyrt_complex_mul(tinyrt_complex x, const TINYRT_SCALAR *w) {
    const TINYRT_WIDE wr = w[0];
    const TINYRT_WIDE wi = w[1];
    return tinyrt_complex_of(TINYRT_ROUND((x.r * wr) - (x.i * wi)),
                             TINYRT_ROUND((x.r * wi) + (x.i * wr)));
}

/** x * s. */
static inline tinyrt_complex tinyrt_complex_scale(tinyrt_complex x, TINYRT_WIDE s) {
    return tinyrt_complex_of(TINYRT_ROUND(x.r * s), TINYRT_ROUND(x.i * s));
}

/** The element at y divided by a radix, which is a constant. */
#define tinyrt_complex_part(y, radix)                                                              \
    tinyrt_complex_of(TINYRT_DIVIDE((TINYRT_WIDE)(y)[0], radix),                                   \
                      TINYRT_DIVIDE((TINYRT_WIDE)(y)[1], radix))

/** One stage of m numbers for each of its parts, whose roots are step apart in w. */
TINYRT_NOINLINE static void tinyrt_fft_two(TINYRT_SCALAR *y, int32_t m, int32_t step,
                                           const TINYRT_SCALAR *w) {
    for (int32_t k = 0; k < m; ++k, y += 2) {
        const tinyrt_complex a = tinyrt_complex_part(y, 2);
        const tinyrt_complex b = tinyrt_complex_part(y + (2 * m), 2);
        const tinyrt_complex t = tinyrt_complex_mul(b, w + (2 * k * step));
        tinyrt_complex_store(y, a.r + t.r, a.i + t.i);
        tinyrt_complex_store(y + (2 * m), a.r - t.r, a.i - t.i);
    }
}

TINYRT_NOINLINE static void tinyrt_fft_three(TINYRT_SCALAR *y, int32_t m, int32_t step,
                                             const TINYRT_SCALAR *w) {
    const TINYRT_WIDE root = w[(2 * m * step) + 1];
    for (int32_t k = 0; k < m; ++k, y += 2) {
        const tinyrt_complex a = tinyrt_complex_part(y, 3);
        const tinyrt_complex b = tinyrt_complex_part(y + (2 * m), 3);
        const tinyrt_complex c = tinyrt_complex_part(y + (4 * m), 3);
        const tinyrt_complex s = tinyrt_complex_mul(b, w + (2 * k * step));
        const tinyrt_complex t = tinyrt_complex_mul(c, w + (4 * k * step));
        const tinyrt_complex sum = tinyrt_complex_of(s.r + t.r, s.i + t.i);
        const tinyrt_complex rest = tinyrt_complex_of(s.r - t.r, s.i - t.i);
        const tinyrt_complex turned = tinyrt_complex_scale(rest, root);
        const TINYRT_WIDE r = a.r - TINYRT_HALF(sum.r);
        const TINYRT_WIDE i = a.i - TINYRT_HALF(sum.i);
        tinyrt_complex_store(y, a.r + sum.r, a.i + sum.i);
        tinyrt_complex_store(y + (2 * m), r - turned.i, i + turned.r);
        tinyrt_complex_store(y + (4 * m), r + turned.i, i - turned.r);
    }
}

#ifndef TINYRT_FFT_FOURS
#define TINYRT_FFT_FOURS tinyrt_fft_fours

static void tinyrt_fft_four(TINYRT_SCALAR *y, int32_t m, int32_t step, const TINYRT_SCALAR *w,
                            int32_t inverse) {
    const int32_t second = inverse ? (6 * m) : (2 * m);
    const int32_t fourth = inverse ? (2 * m) : (6 * m);
    for (int32_t k = 0; k < m; ++k, y += 2) {
        const tinyrt_complex a = tinyrt_complex_part(y, 4);
        const tinyrt_complex b = tinyrt_complex_part(y + (2 * m), 4);
        const tinyrt_complex c = tinyrt_complex_part(y + (4 * m), 4);
        const tinyrt_complex d = tinyrt_complex_part(y + (6 * m), 4);
        const tinyrt_complex s = tinyrt_complex_mul(b, w + (2 * k * step));
        const tinyrt_complex t = tinyrt_complex_mul(c, w + (4 * k * step));
        const tinyrt_complex u = tinyrt_complex_mul(d, w + (6 * k * step));
        tinyrt_complex_store(y, a.r + t.r + (s.r + u.r), a.i + t.i + (s.i + u.i));
        tinyrt_complex_store(y + (4 * m), a.r + t.r - (s.r + u.r), a.i + t.i - (s.i + u.i));
        tinyrt_complex_store(y + second, a.r - t.r + (s.i - u.i), a.i - t.i - (s.r - u.r));
        tinyrt_complex_store(y + fourth, a.r - t.r - (s.i - u.i), a.i - t.i + (s.r - u.r));
    }
}

/** All blocks of such a stage, one for each step. */
TINYRT_NOINLINE static void tinyrt_fft_fours(TINYRT_SCALAR *y, int32_t m, int32_t step,
                                             const TINYRT_SCALAR *w, int32_t inverse) {
    for (int32_t block = 0; block < step; ++block) {
        tinyrt_fft_four(y + (8 * block * m), m, step, w, inverse);
    }
}

#endif

/** a + x * p + y * q. */
static inline tinyrt_complex tinyrt_complex_sum(tinyrt_complex a, tinyrt_complex x, TINYRT_WIDE p,
                                                tinyrt_complex y, TINYRT_WIDE q) {
    const tinyrt_complex s = tinyrt_complex_scale(x, p);
    const tinyrt_complex t = tinyrt_complex_scale(y, q);
    const tinyrt_complex sum = {a.r + s.r + t.r, a.i + s.i + t.i};
    return sum;
}

TINYRT_NOINLINE static void tinyrt_fft_five(TINYRT_SCALAR *y, int32_t m, int32_t step,
                                            const TINYRT_SCALAR *w) {
    const TINYRT_SCALAR *const p = w + (2 * m * step);
    const TINYRT_SCALAR *const q = w + (4 * m * step);
    const tinyrt_complex zero = {0, 0};
    for (int32_t k = 0; k < m; ++k, y += 2) {
        const tinyrt_complex a = tinyrt_complex_part(y, 5);
        tinyrt_complex z[5];
        for (int32_t part = 1; part < 5; ++part) {
            const tinyrt_complex x = tinyrt_complex_part(y + (2 * part * m), 5);
            z[part] = tinyrt_complex_mul(x, w + (2 * part * k * step));
        }
        const tinyrt_complex outer = tinyrt_complex_of(z[1].r + z[4].r, z[1].i + z[4].i);
        const tinyrt_complex inner = tinyrt_complex_of(z[2].r + z[3].r, z[2].i + z[3].i);
        const tinyrt_complex outwards = tinyrt_complex_of(z[1].r - z[4].r, z[1].i - z[4].i);
        const tinyrt_complex inwards = tinyrt_complex_of(z[2].r - z[3].r, z[2].i - z[3].i);
        const tinyrt_complex near = tinyrt_complex_sum(a, outer, p[0], inner, q[0]);
        const tinyrt_complex far = tinyrt_complex_sum(a, outer, q[0], inner, p[0]);
        const tinyrt_complex s = tinyrt_complex_sum(zero, outwards, p[1], inwards, q[1]);
        const tinyrt_complex t = tinyrt_complex_scale(inwards, p[1]);
        const tinyrt_complex u = tinyrt_complex_scale(outwards, q[1]);
        tinyrt_complex_store(y, a.r + outer.r + inner.r, a.i + outer.i + inner.i);
        tinyrt_complex_store(y + (2 * m), near.r - s.i, near.i + s.r);
        tinyrt_complex_store(y + (8 * m), near.r + s.i, near.i - s.r);
        tinyrt_complex_store(y + (4 * m), far.r + (t.i - u.i), far.i - (t.r - u.r));
        tinyrt_complex_store(y + (6 * m), far.r - (t.i - u.i), far.i + (t.r - u.r));
    }
}

/** All stages, the innermost one first, on numbers in the order of tinyrt_fft_next. */
static void tinyrt_fft_stages(const tinyrt_signal_fft_params *p, const TINYRT_SCALAR *w,
                              TINYRT_SCALAR *y, int32_t inverse) {
    int32_t m = 1;
    for (int32_t stage = p->stages - 1; stage >= 0; --stage) {
        const int32_t radix = p->radix[stage];
        const int32_t step = p->step[stage];
        if (radix == 4) {
            TINYRT_FFT_FOURS(y, m, step, w, inverse);
        }
        for (int32_t block = 0; (radix != 4) && (block < step); ++block) {
            TINYRT_SCALAR *const part = y + (2 * block * radix * m);
            if (radix == 2) {
                tinyrt_fft_two(part, m, step, w);
            } else if (radix == 3) {
                tinyrt_fft_three(part, m, step, w);
            } else {
                tinyrt_fft_five(part, m, step, w);
            }
        }
        m *= radix;
    }
}

/** The number that comes behind the one at a place, by the digits of that place up to a stage. */
static int32_t tinyrt_fft_next(const tinyrt_signal_fft_params *p, int32_t stage, int32_t *digits,
                               int32_t at) {
    for (; stage >= 0; --stage) {
        at += p->step[stage];
        if (++digits[stage] < p->radix[stage]) {
            break;
        }
        at -= p->step[stage] * p->radix[stage];
        digits[stage] = 0;
    }
    return at;
}

#endif
