/** From 64-bit accumulators to int16. */
#ifndef TINYRT_REQUANT_S16_H
#define TINYRT_REQUANT_S16_H

#include "tinyrt_fixedpoint.h"

/** One mantissa and shift for each output channel (step 1), or one for all of them (step 0).
 *  wide: mantissas have 15 bits, shifts go right, the product is rounded once; else they are those
 *  of int8, and accumulators fit 32 bits.
 *  Requires: |acc| < 2^47. */
typedef struct {
    const int32_t *mult;
    const int8_t *shift;
    int32_t step;
    int32_t wide;
    int32_t act_min;
    int32_t act_max;
} tinyrt_requant_s16_params;

/** The int16 output of channel c for its accumulator. */
static inline int16_t tinyrt_requant_s16(const tinyrt_requant_s16_params *p, int32_t c,
                                         int64_t acc) {
    const int32_t mult = p->mult[c * p->step];
    const int32_t shift = p->shift[c * p->step];
    if (p->wide == 0) {
        const int32_t value = tinyrt_requant((int32_t)acc, mult, shift);
        return (int16_t)tinyrt_clamp(value, p->act_min, p->act_max);
    }
    const int64_t value = ((acc * mult) + (INT64_C(1) << (shift - 1))) >> shift;
    if (value < p->act_min) {
        return (int16_t)p->act_min;
    }
    return (int16_t)((value > p->act_max) ? p->act_max : value);
}

#endif
