/* The logarithm follows TensorFlow Lite's fixed-point algorithm: the argument is brought near
 * sqrt(sqrt(1/2)), where the logarithm is a quotient of polynomials. Qm.n is a raw int32 with m
 * integer and n fractional bits. */
#include "tinyrt_log_softmax.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_reciprocal.h"

/** Integer bits of what the logarithm is summed up in. */
#define LOG_BITS 6

/** How far a positive value can be shifted to the left. */
static int32_t headroom(int32_t value) {
    int32_t bits = 0;
    while (value < (INT32_C(1) << 30)) {
        value = tinyrt_shift_left(value, 1);
        ++bits;
    }
    return bits;
}

static int32_t high_mul(int32_t a, int32_t b) {
    return tinyrt_rounding_doubling_high_mul(a, b);
}

/** log(x) for x of 1 and more, Q12.19 to Q5.26. */
static int32_t log_of(int32_t x) {
    const int32_t log_2 = 1488522236;
    const int32_t quarter_root = 1805811301; /* sqrt(sqrt(1/2)) */
    const int32_t half_root = 1518500250;    /* sqrt(1/2) */
    const int32_t one_quarter = INT32_C(1) << (29 - LOG_BITS);
    const int32_t unit = INT32_C(1) << (31 - LOG_BITS);
    const int32_t room = headroom(x);
    const int32_t raised = tinyrt_shift_left(x, room);
    const int32_t first = tinyrt_saturating_shift_left(high_mul(raised, half_root), 1);
    const int32_t first_power = ((TINYRT_SUM_BITS - room - 1) * unit) + one_quarter;
    const int32_t other = headroom(high_mul(x, half_root));
    const int32_t second = (other > 0) ? tinyrt_saturating_shift_left(x, other) : x;
    const int32_t second_power = ((TINYRT_SUM_BITS - other) * unit) - one_quarter;
    const int32_t r = (first < second) ? first : second;
    const int32_t power = (first_power > second_power) ? first_power : second_power;
    const int32_t p = (int32_t)(((int64_t)r + quarter_root + 1) / 2);
    const int32_t q = tinyrt_shift_left(r - quarter_root, 1);
    const int32_t square = high_mul(q, q);
    const int32_t numerator = high_mul(q, r) + high_mul(high_mul(q, square), 117049297);
    const int32_t inner = 1057819769 + q + high_mul(127690142, square);
    const int32_t denominator = high_mul(p, inner) + high_mul(638450708, q);
    const int32_t share = high_mul(tinyrt_rounding_divide_by_pot(numerator, LOG_BITS),
                                   tinyrt_one_over_one_plus(denominator));
    return tinyrt_saturating_shift_left(high_mul(power, log_2) + share, 1);
}

static void log_softmax_row(const tinyrt_log_softmax_s8_params *p, const int8_t *x, int8_t *y) {
    int32_t most = INT8_MIN;
    for (int32_t i = 0; i < p->c; ++i) {
        most = (x[i] > most) ? x[i] : most;
    }
    int32_t sum = 0;
    for (int32_t i = 0; i < p->c; ++i) {
        sum += p->exponentials[most - x[i]];
    }
    const int32_t log = log_of(sum);
    const int32_t held = tinyrt_requant(log + INT32_MIN, p->back_mult, p->back_shift);
    const int32_t least = (held > (p->diff_min - 1)) ? held : (p->diff_min - 1);
    for (int32_t i = 0; i < p->c; ++i) {
        const int32_t below = most - x[i];
        if (-below > least) {
            const int32_t steps =
                tinyrt_rounding_divide_by_pot(p->differences[below] - log, 31 - 5 - 4);
            y[i] = tinyrt_to_s8(steps, 127, INT8_MIN, INT8_MAX);
        } else {
            y[i] = INT8_MIN;
        }
    }
}

void tinyrt_log_softmax_s8(const tinyrt_log_softmax_s8_params *p, const int8_t *x, int8_t *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        log_softmax_row(p, x + (row * p->c), y + (row * p->c));
    }
}
