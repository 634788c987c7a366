/** logistic and tanh at a position of the table of tinyrt_sigmoid_s16_params. */
#ifndef TINYRT_SIGMOID_OF_H
#define TINYRT_SIGMOID_OF_H

#include "tinyrt_types.h"

/** The table between its entries: magnitude in steps of 1 / 2^bits of one, beyond its end the value
 *  given for that, with bits more fraction bits. */
static inline int32_t tinyrt_sigmoid_at(const int16_t *table, int32_t magnitude, int32_t bits,
                                        int32_t beyond) {
    const int32_t index = magnitude >> bits;
    if (index >= 255) {
        return beyond;
    }
    const int16_t *const before = table + index;
    const int32_t rest = magnitude & ((1 << bits) - 1);
    return (before[1] * (1 << bits)) + (rest * (before[2] - before[1]));
}

/** 1 / (1 + exp(-x)) at scale 2^-15, halves away from 1 / 2. */
static inline int16_t tinyrt_logistic_of(const int16_t *table, int32_t position) {
    const int32_t magnitude = (position < 0) ? -position : position;
    const int32_t value = tinyrt_sigmoid_at(table, magnitude, 9, -(0x3FFF << 10));
    const int32_t start = (1 << 24) + (1 << 9);
    return (int16_t)(((position >= 0) ? (start - value) : (start - 1 + value)) >> 10);
}

/** tanh(x) at scale 2^-15, halves away from 0. */
static inline int16_t tinyrt_tanh_of(const int16_t *table, int32_t position) {
    const int32_t magnitude = (position < 0) ? -position : position;
    const int32_t value = tinyrt_sigmoid_at(table, magnitude, 8, -(0x7FFF << 8));
    const int32_t half = 1 << 7;
    return (int16_t)(((position >= 0) ? (half - value) : (half - 1 + value)) >> 8);
}

#endif
