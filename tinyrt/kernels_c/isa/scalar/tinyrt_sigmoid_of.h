/** logistic and tanh at a position of the table of tinyrt_sigmoid_s16_params. */
#ifndef TINYRT_SIGMOID_OF_H
#define TINYRT_SIGMOID_OF_H

#include "tinyrt_types.h"

static inline int32_t tinyrt_magnitude(int32_t position) {
    return (position < 0) ? -position : position;
}

/** The table between its entries: magnitude in steps of 1 / 2^bits of one, with bits more fraction
 *  bits. */
static inline int32_t tinyrt_sigmoid_between(const int16_t *table, int32_t magnitude,
                                             int32_t bits) {
    const int32_t index = magnitude >> bits;
    const int32_t before = (uint16_t)table[index];
    const int32_t rest = magnitude & ((1 << bits) - 1);
    return (before * (1 << bits)) + (rest * ((uint16_t)table[index + 1] - before));
}

/** Likewise; what lies beyond the table's end is what lies right before it. */
static inline int32_t tinyrt_sigmoid_at(const int16_t *table, int32_t magnitude, int32_t bits) {
    const int32_t last = (255 << bits) - 1;
    return tinyrt_sigmoid_between(table, (magnitude > last) ? last : magnitude, bits);
}

/** The logistic function of the table's value, halves away from 1 / 2. */
static inline int32_t tinyrt_logistic_from(int32_t position, int32_t value) {
    const int32_t half = 1 << 9;
    return ((position >= 0) ? (value + half) : ((1 << 25) + half - 1 - value)) >> 10;
}

/** 1 / (1 + exp(-x)) at scale 2^-15. */
static inline int32_t tinyrt_logistic_of(const int16_t *table, int32_t position) {
    const int32_t magnitude = tinyrt_magnitude(position);
    return tinyrt_logistic_from(position, tinyrt_sigmoid_at(table, magnitude, 9));
}

/** As tinyrt_logistic_of. Requires: the table has the position. */
static inline int32_t tinyrt_logistic_inside(const int16_t *table, int32_t position) {
    const int32_t magnitude = tinyrt_magnitude(position);
    return tinyrt_logistic_from(position, tinyrt_sigmoid_between(table, magnitude, 9));
}

/** tanh(x) at scale 2^-15, halves away from 0. */
static inline int32_t tinyrt_tanh_of(const int16_t *table, int32_t position) {
    const int32_t value = tinyrt_sigmoid_at(table, tinyrt_magnitude(position), 8) - (1 << 23);
    const int32_t half = 1 << 7;
    return ((position >= 0) ? (value + half) : (half - 1 - value)) >> 8;
}

#endif
