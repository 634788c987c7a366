#include "tinyrt_l2_normalization.h"

#include "tinyrt_fixedpoint.h"

/** The iteration's x <- (3 x - n x^3) / 2 from 1, all in Q3, for n in [1/4, 1). */
static int32_t newton_root(int32_t n) {
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
static int32_t inverse_root(int32_t n, int32_t *shift) {
    *shift = 0;
    if (n <= 1) {
        return INT32_MAX;
    }
    int32_t right = 11;
    for (; n >= 1 << 29; n /= 4) {
        ++right;
    }
    for (; n < 1 << 27; n *= 4) {
        --right;
    }
    const int32_t root = newton_root(n >> 1);
    if (right < 0) {
        return tinyrt_shift_left(root, -right);
    }
    *shift = -right;
    return root;
}

void tinyrt_l2_normalization_s8(int32_t rows, int32_t c, int32_t x_zp, int32_t early_bits,
                                const int8_t *x, int8_t *y) {
    const int32_t early = 1 << early_bits, late_bits = 7 - early_bits;
    for (int32_t row = 0; row < rows; ++row) {
        int32_t sum = 0, shift;
        for (int32_t i = 0; i < c; ++i) {
            sum += (x[i] - x_zp) * (x[i] - x_zp);
        }
        const int32_t mult = inverse_root(sum, &shift);
        for (int32_t i = 0; i < c; ++i) {
            const int32_t value = tinyrt_requant((x[i] - x_zp) * early, mult, shift + late_bits);
            y[i] = (int8_t)tinyrt_clamp(value, INT8_MIN, INT8_MAX);
        }
        x += c;
        y += c;
    }
}
