/** From 64-bit accumulators to int16. */
#ifndef TINYRT_REQUANT_S16_H
#define TINYRT_REQUANT_S16_H

#include "tinyrt_fixedpoint.h"

/** One mantissa and shift for each output channel (step 1), or one for all of them (step 0).
 *  wide: mantissas have 15 bits, shifts go right, the product is rounded once; else they are those
 *  of int8, and accumulators fit 32 bits.
 *  Accumulators beyond 2^47 wrap, as do those that a bias makes which the model computes. */
typedef struct {
    const int32_t *mult;
    const int8_t *shift;
    int32_t step;
    int32_t wide;
    int32_t act_min;
    int32_t act_max;
} tinyrt_requant_s16_params;

/** How accumulators of 32 bits become int16: y = clamp(acc * mult / 2^32), halves towards
 * +infinity. mult holds one mantissa for each output channel (mult_step 1), up to a multiple of
 * four, or one of all of them four times (mult_step 0). Biases, which lie elsewhere, likewise. */
typedef struct {
    const int32_t *mult;
    int32_t mult_step;
    int32_t bias_step;
    int32_t act_min;
    int32_t act_max;
} tinyrt_raised_s16;

#if defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 1)
/** Without a long multiplication, narrow accumulators are no faster. */
#define TINYRT_IS_NARROW(acc, shift) 0
#else
#define TINYRT_IS_NARROW(acc, shift)                                                               \
    (((int32_t)(acc) == (acc)) && ((uint32_t)((shift) - 17) <= (32U - 17U)))
#endif

/** acc * mult / 2^shift, halves towards +infinity. Requires: mult in [0, 2^15), shift in [17, 32].
 *  The mantissa is raised, so that what is rounded off are the lower half's bits. */
static inline int32_t tinyrt_requant_narrow(int32_t acc, int32_t mult, int32_t shift) {
    const int32_t raised = tinyrt_shift_left(mult, 32 - shift);
    const uint64_t product = (uint64_t)((int64_t)acc * raised);
    return (int32_t)(uint32_t)((product + (UINT64_C(1) << 31)) >> 32);
}

/** a + b, wrapping as two registers do. */
static inline int64_t tinyrt_add_wide(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/** The int16 output of channel c for its accumulator. */
static inline int16_t tinyrt_requant_s16(const tinyrt_requant_s16_params *p, int32_t c,
                                         int64_t acc) {
    const int32_t mult = p->mult[c * p->step];
    const int32_t shift = p->shift[c * p->step];
    if (p->wide == 0) {
        const int32_t value = tinyrt_requant((int32_t)acc, mult, shift);
        return (int16_t)tinyrt_clamp(value, p->act_min, p->act_max);
    }
    if (TINYRT_IS_NARROW(acc, shift)) {
        const int32_t value = tinyrt_requant_narrow((int32_t)acc, mult, shift);
        return (int16_t)tinyrt_clamp(value, p->act_min, p->act_max);
    }
    const int64_t product = (int64_t)((uint64_t)acc * (uint64_t)(int64_t)mult);
    const int64_t value = tinyrt_add_wide(product, INT64_C(1) << (shift - 1)) >> shift;
    if (value < p->act_min) {
        return (int16_t)p->act_min;
    }
    return (int16_t)((value > p->act_max) ? p->act_max : value);
}

#endif
