/** Rescaled sums and differences of int16 for cores with MVE. */
#ifndef TINYRT_MVE_ADD_S16_H
#define TINYRT_MVE_ADD_S16_H

#include "tinyrt_add.h"
#include "tinyrt_mve_rows_of_pairs.h"

/** A requantisation of four values: a shift to the left, and then one to the right. */
typedef struct {
    int32_t left;
    int32_t mult;
    int32x4_t right;
} tinyrt_mve_scale;

/** What all sums of a row have in common; the other input counts sign times. */
typedef struct {
    tinyrt_mve_scale of_a;
    tinyrt_mve_scale of_b;
    tinyrt_mve_scale of_y;
    int32_t sign;
    int32_t act_min;
    int32_t act_max;
} tinyrt_mve_sums_s16;

/** Multiplies by mult * 2^(raised + shift - 31). Requires: raised >= 0, shift <= 0: no factor of a
 *  sum reaches 1. */
static inline tinyrt_mve_scale tinyrt_mve_scale_of(int32_t raised, int32_t mult, int32_t shift) {
    const tinyrt_mve_scale scale = {raised, mult, vdupq_n_s32(shift)};
    return scale;
}

static inline int32x4_t tinyrt_mve_scaled(const tinyrt_mve_scale *scale, int32x4_t value) {
    const int32x4_t high = vqrdmulhq_n_s32(vshlq_r_s32(value, scale->left), scale->mult);
    return tinyrt_mve_rounding_shift_right(high, scale->right);
}

static inline int32x4_t tinyrt_mve_sum_s16(const void *values, int32x4_t a, int32x4_t b) {
    const tinyrt_mve_sums_s16 *of = values;
    const int32x4_t first = tinyrt_mve_scaled(&of->of_a, a);
    const int32x4_t second = tinyrt_mve_scaled(&of->of_b, b);
    const int32x4_t sum = (of->sign > 0) ? vaddq_s32(first, second) : vsubq_s32(first, second);
    const int32x4_t value = tinyrt_mve_scaled(&of->of_y, sum);
    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(of->act_min)), vdupq_n_s32(of->act_max));
}

/** A row of sums a + sign * b; sign is a constant where this is called. */
static inline void tinyrt_mve_add_row_s16(const void *params, int32_t sign, const int16_t *a,
                                          int32_t a_step, const int16_t *b, int32_t b_step,
                                          int32_t count, int16_t *y) {
    const tinyrt_add_s8_params *p = params;
    const tinyrt_mve_sums_s16 of = {
        .of_a = tinyrt_mve_scale_of(p->left_shift, p->a_mult, p->a_shift),
        .of_b = tinyrt_mve_scale_of(p->left_shift, p->b_mult, p->b_shift),
        .of_y = tinyrt_mve_scale_of(0, p->y_mult, p->y_shift),
        .sign = sign,
        .act_min = p->act_min,
        .act_max = p->act_max,
    };
    tinyrt_mve_row_s16(tinyrt_mve_sum_s16, &of, a, a_step, b, b_step, count, y);
}

#endif
