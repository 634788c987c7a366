/** Outputs of layers with the output zero point -128, as a ReLU leaves it, from sums of blocks. */
#ifndef TINYRT_FINISH_RELU_H
#define TINYRT_FINISH_RELU_H

#include "tinyrt_simd.h"

#include <string.h>

/** Four outputs from 2^16 times what they are above -128, and more. */
static inline void tinyrt_store_relu(uint32_t first, uint32_t second, uint32_t third,
                                     uint32_t fourth, int8_t *y) {
    const uint32_t four = tinyrt_limit_four(first, second, third, fourth) ^ 0x80808080U;
    (void)memcpy(y, &four, sizeof four);
}

/** 2^16 times what an output is above -128, and more. */
static inline uint32_t tinyrt_relu_scaled(uint32_t sum, int32_t raise, int32_t factor,
                                          int32_t addend) {
    return (uint32_t)tinyrt_add_floored_mul((int32_t)(sum << raise), factor, addend);
}

/** The four outputs of a column, from its sums as tinyrt_dot_one leaves them; odd is the shift by
 *  which sums of 256 are raised. */
static inline void tinyrt_finish_relu(const int32_t *acc, const int32_t *k, int32_t odd,
                                      int8_t *y) {
    const uint32_t odd_0 = (uint32_t)acc[1] - (uint32_t)acc[0];
    const uint32_t odd_1 = (uint32_t)acc[3] - (uint32_t)acc[2];
    tinyrt_store_relu(tinyrt_relu_scaled((uint32_t)acc[0], odd + 8, k[0], k[1]),
                      tinyrt_relu_scaled(odd_0, odd, k[2], k[3]),
                      tinyrt_relu_scaled((uint32_t)acc[2], odd + 8, k[4], k[5]),
                      tinyrt_relu_scaled(odd_1, odd, k[6], k[7]), y);
}

#endif
