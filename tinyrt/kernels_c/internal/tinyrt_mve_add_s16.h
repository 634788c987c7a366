/** Rescaled sums and differences of int16 for cores with MVE. */
#ifndef TINYRT_MVE_ADD_S16_H
#define TINYRT_MVE_ADD_S16_H

#include "tinyrt_add.h"
#include "tinyrt_mve.h"
#include "tinyrt_rows_of_pairs.h"

/** A requantisation of four values, with the parts of its shift. */
typedef struct {
    int32_t left;
    int32_t mult;
    int32x4_t right;
} tinyrt_mve_scale;

/** Multiplies by mult * 2^(raised + shift - 31). Requires: raised >= 0. */
static inline tinyrt_mve_scale tinyrt_mve_scale_of(int32_t raised, int32_t mult, int32_t shift) {
    const int32_t left = (shift > 0) ? shift : 0;
    const tinyrt_mve_scale scale = {raised + left, mult, vdupq_n_s32(shift - left)};
    return scale;
}

static inline int32x4_t tinyrt_mve_scaled(const tinyrt_mve_scale *scale, int32x4_t value) {
    const int32x4_t high = vqrdmulhq_n_s32(vshlq_r_s32(value, scale->left), scale->mult);
    return tinyrt_mve_rounding_shift_right(high, scale->right);
}

/** A row of neighbours, which are loaded as they lie, or of elements at any distance; dense and
 *  sign are constants where this is called. */
static inline void tinyrt_mve_sums_s16(const tinyrt_add_s8_params *p, int32_t sign, int dense,
                                       const int16_t *a, int32_t a_step, const int16_t *b,
                                       int32_t b_step, int32_t count, int16_t *y) {
    const tinyrt_mve_scale of_a = tinyrt_mve_scale_of(p->left_shift, p->a_mult, p->a_shift);
    const tinyrt_mve_scale of_b = tinyrt_mve_scale_of(p->left_shift, p->b_mult, p->b_shift);
    const tinyrt_mve_scale of_y = tinyrt_mve_scale_of(0, p->y_mult, p->y_shift);
    const uint32x4_t lane = vidupq_n_u32(0, 1);
    const uint32x4_t a_lanes = vmulq_n_u32(lane, (uint32_t)a_step);
    const uint32x4_t b_lanes = vmulq_n_u32(lane, (uint32_t)b_step);
    for (; count > 0; count -= 4, y += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)count);
        const int32x4_t from_a =
            dense ? vldrhq_z_s32(a, lanes) : vldrhq_gather_shifted_offset_z_s32(a, a_lanes, lanes);
        const int32x4_t from_b =
            dense ? vldrhq_z_s32(b, lanes) : vldrhq_gather_shifted_offset_z_s32(b, b_lanes, lanes);
        const int32x4_t first = tinyrt_mve_scaled(&of_a, from_a);
        const int32x4_t second = tinyrt_mve_scaled(&of_b, from_b);
        const int32x4_t sum = (sign > 0) ? vaddq_s32(first, second) : vsubq_s32(first, second);
        const int32x4_t value = tinyrt_mve_scaled(&of_y, sum);
        const int32x4_t least = vmaxq_s32(value, vdupq_n_s32(p->act_min));
        vstrhq_p_s32(y, vminq_s32(least, vdupq_n_s32(p->act_max)), lanes);
        a += 4 * a_step;
        b += 4 * b_step;
    }
}

/** A row of sums a + sign * b; sign is a constant where this is called. */
static inline void tinyrt_mve_row_s16(const void *params, int32_t sign, const int16_t *a,
                                      int32_t a_step, const int16_t *b, int32_t b_step,
                                      int32_t count, int16_t *y) {
    const tinyrt_add_s8_params *p = params;
    if ((a_step == 1) && (b_step == 1)) {
        tinyrt_mve_sums_s16(p, sign, 1, a, 1, b, 1, count, y);
    } else {
        tinyrt_mve_sums_s16(p, sign, 0, a, a_step, b, b_step, count, y);
    }
}

#endif
