/* The exponential and the reciprocal follow gemmlowp's fixed-point algorithms (Jacob et al.,
 * "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
 * 2018). Qm.n is a raw int32 with m integer and n fractional bits. */
#include "tinyrt_softmax.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_reciprocal.h"

/** Exponentials of a row that are kept on the stack. */
#define MOST_KEPT 12

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
        if ((multiple & tinyrt_shift_left(quarter, i)) != 0) {
            result = tinyrt_rounding_doubling_high_mul(result, powers[i]);
        }
    }
    return result;
}

static int32_t largest(const int8_t *x, int32_t length) {
    int32_t most = INT8_MIN;
    for (int32_t i = 0; i < length; ++i) {
        most = (x[i] > most) ? x[i] : most;
    }
    return most;
}

/** 0 below the least difference. */
static TINYRT_NOINLINE int32_t exp_of_difference(const tinyrt_softmax_s8_params *p,
                                                 int32_t difference) {
    if (difference < p->diff_min) {
        return 0;
    }
    const int32_t raised = tinyrt_shift_left(difference, p->x_shift);
    return exp_of_negative(tinyrt_rounding_doubling_high_mul(raised, p->x_mult));
}

static void softmax_row(const tinyrt_softmax_s8_params *p, const int8_t *x, int8_t *y) {
    /* The first exponentials are kept, those behind them are computed twice. */
    int32_t kept[MOST_KEPT];
    const int32_t most = largest(x, p->c);
    int32_t sum = 0;
    for (int32_t i = 0; i < p->c; ++i) {
        const int32_t exponential = exp_of_difference(p, x[i] - most);
        sum += tinyrt_rounding_divide_by_pot(exponential, TINYRT_SUM_BITS);
        if (i < MOST_KEPT) {
            kept[i] = exponential;
        }
    }
    const tinyrt_reciprocal reciprocal = tinyrt_reciprocal_of((uint32_t)sum);
    for (int32_t i = 0; i < p->c; ++i) {
        const int32_t exponential = (i < MOST_KEPT) ? kept[i] : exp_of_difference(p, x[i] - most);
        const int32_t share = tinyrt_rounding_doubling_high_mul(reciprocal.scale, exponential);
        y[i] = tinyrt_softmax_output(share, reciprocal.exponent);
    }
}

void tinyrt_softmax_s8(const tinyrt_softmax_s8_params *p, const int8_t *x, int8_t *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        softmax_row(p, x + (row * p->c), y + (row * p->c));
    }
}
