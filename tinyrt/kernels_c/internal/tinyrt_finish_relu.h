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

/* Two words one behind the other. Compilers load a word that serves twice by itself. */
#ifdef TINYRT_ASM_DSP
#define TINYRT_LOAD_TWO(words, at, first, second)                                                  \
    __asm("ldrd %0, %1, [%2, %3]"                                                                  \
          : "=r"(first), "=r"(second)                                                              \
          : "r"(words), "i"(4 * (at)), "m"((words)[at]), "m"((words)[(at) + 1]))
#else
#define TINYRT_LOAD_TWO(words, at, first, second)                                                  \
    ((first) = (words)[at], (second) = (words)[(at) + 1])
#endif

/** The four outputs of a column, from its sums as tinyrt_dot_one leaves them. scale has for every
 *  two channels the factor of the first one, the addend of both, and the factor of the second one;
 *  odd is the shift by which sums of 256 are raised. */
static inline void tinyrt_finish_relu(const int32_t *acc, const int32_t *scale, int32_t odd,
                                      int8_t *y) {
    int32_t factors[4];
    int32_t addends[2];
    TINYRT_LOAD_TWO(scale, 0, factors[0], addends[0]);
    TINYRT_LOAD_TWO(scale, 2, factors[1], factors[2]);
    TINYRT_LOAD_TWO(scale, 4, addends[1], factors[3]);
    const uint32_t odd_0 = (uint32_t)acc[1] - (uint32_t)acc[0];
    const uint32_t odd_1 = (uint32_t)acc[3] - (uint32_t)acc[2];
    tinyrt_store_relu(tinyrt_relu_scaled((uint32_t)acc[0], odd + 8, factors[0], addends[0]),
                      tinyrt_relu_scaled(odd_0, odd, factors[1], addends[0]),
                      tinyrt_relu_scaled((uint32_t)acc[2], odd + 8, factors[2], addends[1]),
                      tinyrt_relu_scaled(odd_1, odd, factors[3], addends[1]), y);
}

#endif
