/** logistic and tanh of int16 values, by one table. */
#ifndef TINYRT_SIGMOID_S16_H
#define TINYRT_SIGMOID_S16_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Inputs times mult, shifted right with rounding, are the table's positions.
 *  table: sigmoid(i / 24) in Q0.16, 256 entries. */
typedef struct {
    int32_t size;
    int32_t mult;
    int32_t right;
    const uint16_t *table;
} tinyrt_sigmoid_s16_params;

/** The table between its entries: magnitude in steps of 1 / 2^bits of one, 0xFFFF beyond its end,
 *  with bits more fraction bits. */
static inline int32_t tinyrt_sigmoid_at(const uint16_t *table, int32_t magnitude, int32_t bits,
                                        int32_t beyond) {
    const int32_t index = magnitude >> bits;
    if (index >= 255) {
        return beyond;
    }
    const int32_t rest = magnitude & ((1 << bits) - 1);
    return (table[index] << bits) + (rest * (table[index + 1] - table[index]));
}

/** An input's position, limited to a little more than the table has. */
static inline int32_t tinyrt_sigmoid_position(const tinyrt_sigmoid_s16_params *p, int32_t x) {
    const int64_t rounding = (INT64_C(1) << p->right) >> 1;
    const int64_t position = (((int64_t)x * p->mult) + rounding) >> p->right;
    if (position > INT32_MAX) {
        return INT32_MAX;
    }
    return (position < -INT32_MAX) ? -INT32_MAX : (int32_t)position;
}

/** 1 / (1 + exp(-x)) at scale 2^-15, of x's position. */
static inline int16_t tinyrt_logistic_of(const uint16_t *table, int32_t position) {
    const int32_t magnitude = (position < 0) ? -position : position;
    const int32_t value = tinyrt_sigmoid_at(table, magnitude, 9, 0x7FFF << 10);
    const int32_t half = 1 << 9;
    return (int16_t)(((position >= 0) ? (value + half) : (1 << 25) - value + half - 1) >> 10);
}

/** tanh(x) at scale 2^-15, of x's position. */
static inline int16_t tinyrt_tanh_of(const uint16_t *table, int32_t position) {
    const int32_t magnitude = (position < 0) ? -position : position;
    const int32_t value = tinyrt_sigmoid_at(table, magnitude, 8, 0xFFFF << 8) - (1 << 23);
    const int32_t half = 1 << 7;
    return (int16_t)(((position >= 0) ? (value + half) : (half - 1 - value)) >> 8);
}

/** 1 / (1 + exp(-x)) at scale 2^-15. */
static inline int16_t tinyrt_logistic_at(const tinyrt_sigmoid_s16_params *p, int32_t x) {
    return tinyrt_logistic_of(p->table, tinyrt_sigmoid_position(p, x));
}

/** tanh(x) at scale 2^-15. */
static inline int16_t tinyrt_tanh_at(const tinyrt_sigmoid_s16_params *p, int32_t x) {
    return tinyrt_tanh_of(p->table, tinyrt_sigmoid_position(p, x));
}

/** y = 1 / (1 + exp(-x)) at scale 2^-15. y may be x. */
void tinyrt_logistic_s16(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y);

/** y = tanh(x) at scale 2^-15. y may be x. */
void tinyrt_tanh_s16(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
