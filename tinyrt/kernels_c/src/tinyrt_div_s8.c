#include "tinyrt_div.h"

#include "tinyrt_fixedpoint.h"

#define MOST_SHIFT 31

/** Bits by which a number can be raised without overflow. */
static int32_t spare_bits(int32_t value) {
    uint32_t rest = (uint32_t)((value < 0) ? -(value + 1) : value);
    int32_t spare = 31;
    while (rest > 0) {
        rest >>= 1;
        spare--;
    }
    return spare;
}

static int32_t by_zero(int32_t dividend, int32_t y_zp) {
    if (dividend == 0) {
        return y_zp;
    }
    return (dividend < 0) ? INT8_MIN : INT8_MAX;
}

static int8_t divide(const void *params, int32_t a, int32_t b) {
    const tinyrt_div_s8_params *p = params;
    const int32_t divisor = b - p->b_zp;
    const int32_t dividend = (divisor < 0) ? (p->a_zp - a) : (a - p->a_zp);
    if (divisor == 0) {
        return (int8_t)tinyrt_clamp(by_zero(dividend, p->y_zp), p->act_min, p->act_max);
    }
    const int32_t spare = spare_bits(dividend);
    const int32_t quotient = tinyrt_rounding_doubling_high_mul(tinyrt_shift_left(dividend, spare),
                                                               p->inverse[b - INT8_MIN]);
    const int32_t shift = p->exponent[b - INT8_MIN] + spare;
    int32_t scaled = 0;
    if (shift <= MOST_SHIFT) {
        scaled =
            tinyrt_rounding_divide_by_pot(tinyrt_rounding_doubling_high_mul(quotient, p->y_mult),
                                          tinyrt_clamp(shift, 0, MOST_SHIFT));
    }
    return tinyrt_to_s8(scaled, p->y_zp, p->act_min, p->act_max);
}

void tinyrt_div_s8(const tinyrt_div_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_pair(&p->shape, divide, p, a, b, y);
}
