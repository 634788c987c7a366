/** The reciprocal root of an integer, as a mantissa and an exponent. */
#ifndef TINYRT_INVERSE_ROOT_H
#define TINYRT_INVERSE_ROOT_H

#include "tinyrt_fixedpoint.h"

/** The iteration's x <- (3 x - n x^3) / 2 from 1, all in Q3, for n in [1/4, 1). */
static inline int32_t tinyrt_newton_root(int32_t n) {
    const int32_t half = tinyrt_rounding_divide_by_pot(n, 1);
    int32_t x = 1 << 28;
    for (int32_t i = 0; i < 5; ++i) {
        const int32_t square = tinyrt_rounding_doubling_high_mul(x, x);
        const int32_t cube =
            tinyrt_saturating_shift_left(tinyrt_rounding_doubling_high_mul(square, x), 6);
        const int32_t step = tinyrt_rounding_doubling_high_mul((1 << 28) + (1 << 27), x) -
                             tinyrt_rounding_doubling_high_mul(half, cube);
        x = tinyrt_saturating_shift_left(step, 3);
    }
    /* The square root of a half. */
    return tinyrt_rounding_doubling_high_mul(x, 1518500250);
}

/** Mantissa and exponent of 1 / sqrt(n), of the largest mantissa where n is 0. */
static inline int32_t tinyrt_inverse_root(int32_t n, int32_t *shift) {
    *shift = 0;
    if (n <= 1) {
        return INT32_MAX;
    }
    int32_t right = 11;
    for (; n >= (1 << 29); n /= 4) {
        ++right;
    }
    for (; n < (1 << 27); n *= 4) {
        --right;
    }
    const int32_t root = tinyrt_newton_root(n >> 1);
    if (right < 0) {
        return tinyrt_shift_left(root, -right);
    }
    *shift = -right;
    return root;
}

#endif
