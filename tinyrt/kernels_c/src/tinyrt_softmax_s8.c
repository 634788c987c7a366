/* The exponential and the reciprocal follow gemmlowp's fixed-point algorithms (Jacob et al.,
 * "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
 * 2018). Qm.n is a raw int32 with m integer and n fractional bits. */
#include "tinyrt_softmax.h"

#include "tinyrt_fixedpoint.h"

#define SUM_INTEGER_BITS 12

/** exp(a) for a in [-1/4, 0), Q0.31: the Taylor polynomial around -1/8. */
static int32_t exp_of_rest(int32_t a) {
    const int32_t exp_minus_one_eighth = 1895147668;
    const int32_t one_third = 715827883;
    const int32_t x = a + (INT32_C(1) << 28);
    const int32_t x2 = tinyrt_rounding_doubling_high_mul(x, x);
    const int32_t x3 = tinyrt_rounding_doubling_high_mul(x2, x);
    const int32_t x4 = tinyrt_rounding_doubling_high_mul(x2, x2);
    const int32_t thirds = tinyrt_rounding_divide_by_pot(x4, 2) + x3;
    const int32_t halves = tinyrt_rounding_doubling_high_mul(thirds, one_third) + x2;
    const int32_t polynomial = x + tinyrt_rounding_divide_by_pot(halves, 1);
    return exp_minus_one_eighth +
           tinyrt_rounding_doubling_high_mul(exp_minus_one_eighth, polynomial);
}

/** exp(a) for a <= 0, Q5.26 to Q0.31: a multiple of 1/4 and a rest. */
static int32_t exp_of_negative(int32_t a) {
    /* exp(-1/4), exp(-1/2), exp(-1), ..., exp(-16), Q0.31 */
    static const int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308,
                                     39332535,   720401,     242};
    const int32_t quarter = INT32_C(1) << 24;
    const int32_t rest = (a & (quarter - 1)) - quarter;
    const int32_t multiple = rest - a;
    if (a == 0) {
        return INT32_MAX;
    }
    int32_t result = exp_of_rest(tinyrt_shift_left(rest, 5));
    for (int32_t i = 0; i < (int32_t)(sizeof powers / sizeof powers[0]); ++i) {
        if (multiple & tinyrt_shift_left(quarter, i)) {
            result = tinyrt_rounding_doubling_high_mul(result, powers[i]);
        }
    }
    return result;
}

/** 1 / (1 + a) for a in [0, 1], Q0.31: Newton-Raphson on the halved denominator. */
static int32_t one_over_one_plus(int32_t a) {
    const int32_t constant_48_over_17 = 1515870810;
    const int32_t constant_neg_32_over_17 = -1010580540;
    const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
    int32_t x =
        constant_48_over_17 + tinyrt_rounding_doubling_high_mul(half, constant_neg_32_over_17);
    for (int32_t step = 0; step < 3; ++step) {
        const int32_t error = (INT32_C(1) << 29) - tinyrt_rounding_doubling_high_mul(half, x);
        x += tinyrt_saturating_shift_left(tinyrt_rounding_doubling_high_mul(x, error), 2);
    }
    return tinyrt_saturating_shift_left(x, 1);
}

static int32_t leading_zeros(uint32_t value) {
    int32_t zeros = 0;
    while (value < UINT32_C(0x80000000)) {
        value <<= 1;
        ++zeros;
    }
    return zeros;
}

static int32_t largest(const int8_t *x, int32_t length) {
    int32_t most = INT8_MIN;
    for (int32_t i = 0; i < length; ++i) {
        most = x[i] > most ? x[i] : most;
    }
    return most;
}

static int32_t exp_of_difference(const tinyrt_softmax_s8_params *p, int32_t difference) {
    return exp_of_negative(tinyrt_requant(difference, p->x_mult, p->x_shift));
}

static void softmax_row(const tinyrt_softmax_s8_params *p, const int8_t *x, int8_t *y) {
    const int32_t most = largest(x, p->c);
    int32_t sum = 0;
    for (int32_t i = 0; i < p->c; ++i) {
        if (x[i] - most >= p->diff_min) {
            sum +=
                tinyrt_rounding_divide_by_pot(exp_of_difference(p, x[i] - most), SUM_INTEGER_BITS);
        }
    }
    const int32_t zeros = leading_zeros((uint32_t)sum);
    const uint32_t fraction = ((uint32_t)sum << zeros) - UINT32_C(0x80000000);
    const int32_t scale = one_over_one_plus((int32_t)fraction);
    /* The sum is (1 + fraction) * 2^(12 - zeros); the output has 8 fractional bits. */
    const int32_t exponent = SUM_INTEGER_BITS - zeros + 31 - 8;
    for (int32_t i = 0; i < p->c; ++i) {
        int32_t value = INT8_MIN;
        if (x[i] - most >= p->diff_min) {
            const int32_t quotient =
                tinyrt_rounding_doubling_high_mul(scale, exp_of_difference(p, x[i] - most));
            value += tinyrt_rounding_divide_by_pot(quotient, exponent);
        }
        y[i] = (int8_t)tinyrt_clamp(value, INT8_MIN, INT8_MAX);
    }
}

void tinyrt_softmax_s8(const tinyrt_softmax_s8_params *p, const int8_t *x, int8_t *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        softmax_row(p, x + row * p->c, y + row * p->c);
    }
}
