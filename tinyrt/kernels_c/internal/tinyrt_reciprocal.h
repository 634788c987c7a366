/** The reciprocal of a softmax's sum, after gemmlowp's fixed-point algorithm (Jacob et al.,
 *  "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
 *  2018): no division, once for each row. */
#ifndef TINYRT_RECIPROCAL_H
#define TINYRT_RECIPROCAL_H

#include "tinyrt_fixedpoint.h"

/** Integer bits of a sum of exponentials. */
#define TINYRT_SUM_BITS 12

/** 1 / sum = scale * 2^-exponent for exponentials in Q0.31 and outputs with 8 fractional bits. */
typedef struct {
    int32_t scale;
    int32_t exponent;
} tinyrt_reciprocal;

/** 1 / (1 + a) for a in [0, 1], Q0.31: Newton-Raphson on the halved denominator. */
static inline int32_t tinyrt_one_over_one_plus(int32_t a) {
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

/** Of a sum in Q12.19. Requires: sum is not 0. */
static inline tinyrt_reciprocal tinyrt_reciprocal_of(uint32_t sum) {
    int32_t zeros = 0;
    while (sum < 0x80000000U) {
        sum <<= 1;
        ++zeros;
    }
    /* The sum is (1 + fraction) * 2^(12 - zeros); the output has 8 fractional bits. */
    const tinyrt_reciprocal reciprocal = {tinyrt_one_over_one_plus((int32_t)(sum - 0x80000000U)),
                                          TINYRT_SUM_BITS - zeros + 31 - 8};
    return reciprocal;
}

/** An exponential's share of the sum, at most 2^31 - 1 and not negative, as an output. */
static inline int8_t tinyrt_softmax_output(int32_t share, int32_t exponent) {
    if (exponent > 31) {
        return INT8_MIN; /* less than half a step */
    }
    const uint32_t half = (UINT32_C(1) << exponent) >> 1;
    const int32_t value = (int32_t)(((uint32_t)share + half) >> exponent) + INT8_MIN;
    return (int8_t)((value > INT8_MAX) ? INT8_MAX : value);
}

#endif
