/** logistic and tanh at a position of the table of tinyrt_sigmoid_s16_params: both entries around
 *  it times their weights, by one instruction. */
#ifndef TINYRT_SIGMOID_OF_H
#define TINYRT_SIGMOID_OF_H

#include "tinyrt_table_pairs.h"

/** Numbers that are in registers.
 *
 *  entry: steps between two entries. slope: what one more step adds to both weights. weights: those
 *  of an entry itself, -2^15 and 0; 2^15 would not fit. start: the function of 0, with rounding. */
typedef struct {
    int32_t one;
    int32_t entry;
    int32_t slope;
    int32_t weights;
    int32_t start;
} tinyrt_sigmoid_numbers;

static inline tinyrt_sigmoid_numbers tinyrt_sigmoid_numbers_of(int32_t bits, int32_t start) {
    const int32_t unit = 1 << (15 - bits);
    return (tinyrt_sigmoid_numbers){tinyrt_in_register(1), tinyrt_in_register(1 << bits),
                                    tinyrt_in_register(unit - (unit * (1 << 16))),
                                    tinyrt_in_register(1 << 15), tinyrt_in_register(start)};
}

/** For logistic's results in the upper half. */
static inline tinyrt_sigmoid_numbers tinyrt_logistic_numbers(void) {
    return tinyrt_sigmoid_numbers_of(9, (1 << 30) + (1 << 15));
}

/** For tanh's, 2^15 times as large. */
static inline tinyrt_sigmoid_numbers tinyrt_tanh_numbers(void) {
    return tinyrt_sigmoid_numbers_of(8, 1 << 14);
}

/** The table between its entries, of which the first is that of -1. A unit of the products more
 *  makes halves go away from the function of 0, on either side. */
static inline int32_t tinyrt_sigmoid_between(const int16_t *table, const tinyrt_sigmoid_numbers *n,
                                             int32_t position, int32_t bits) {
    const int32_t sign = n->one | (position >> 31);
    const int32_t far = tinyrt_add_product(position, sign, n->entry);
    const int32_t place = (bits == 9) ? tinyrt_limit_17(far) : tinyrt_limit_16(far);
    const uint32_t entries = tinyrt_load_word(table + (place >> bits));
    const int32_t weights = tinyrt_add_product(place & ((1 << bits) - 1), n->slope, n->weights);
    const int32_t value = tinyrt_dot_pair(entries, (uint32_t)weights, n->one);
    return tinyrt_add_product(value, sign, n->start);
}

/** 1 / (1 + exp(-x)) at scale 2^-31. */
static inline int32_t tinyrt_logistic_by(const int16_t *table, const tinyrt_sigmoid_numbers *n,
                                         int32_t position) {
    return tinyrt_sigmoid_between(table, n, position, 9);
}

/** tanh(x) at scale 2^-30. */
static inline int32_t tinyrt_tanh_by(const int16_t *table, const tinyrt_sigmoid_numbers *n,
                                     int32_t position) {
    return tinyrt_sigmoid_between(table, n, position, 8);
}

static inline int32_t tinyrt_logistic_of(const int16_t *table, int32_t position) {
    const tinyrt_sigmoid_numbers n = tinyrt_logistic_numbers();
    return tinyrt_logistic_by(table, &n, position) >> 16;
}

/** As tinyrt_logistic_of. Requires: the table has the position. */
static inline int32_t tinyrt_logistic_inside(const int16_t *table, int32_t position) {
    return tinyrt_logistic_of(table, position);
}

static inline int32_t tinyrt_tanh_of(const int16_t *table, int32_t position) {
    const tinyrt_sigmoid_numbers n = tinyrt_tanh_numbers();
    return tinyrt_tanh_by(table, &n, position) >> 15;
}

#endif
