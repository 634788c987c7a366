/** Rescaled sums and differences for cores with MVE. */
#ifndef TINYRT_MVE_ADD_H
#define TINYRT_MVE_ADD_H

#include "tinyrt_add.h"
#include "tinyrt_mve.h"

/** A sum of two operands. The common scale is twice the larger one of theirs, so that one of them,
 *  the coarse one, is brought to it by a shift; the fine one needs a multiplication. */
typedef struct {
    int32_t coarse_factor;
    int32_t coarse_offset;
    int32_t fine_factor;
    int32_t fine_offset;
    int32_t fine_mult;
    int32_t fine_shift;
    int32_t fine_sign;
} tinyrt_mve_sum;

/** value * 2^exponent, wrapping. */
static inline int32_t tinyrt_mve_raise(int32_t value, int32_t exponent) {
    return (int32_t)((uint32_t)value << exponent);
}

/** The sum a + sign * b. *swap says that b is the coarse operand.
 *  An exponent of 0 goes with a mantissa of 1/2: one bit more is a shift by 1 and rounds nothing.
 */
static inline tinyrt_mve_sum tinyrt_mve_sum_of(const tinyrt_add_s8_params *p, int32_t sign,
                                               int *swap) {
    *swap = p->a_shift != 0;
    const int32_t coarse_sign = *swap ? sign : 1;
    const int32_t coarse_zp = *swap ? p->b_zp : p->a_zp;
    const int32_t fine_zp = *swap ? p->a_zp : p->b_zp;
    const int32_t fine_shift = *swap ? p->a_shift : p->b_shift;
    const int32_t raised = fine_shift == 0 ? p->left_shift + 1 : p->left_shift;
    const int32_t coarse_factor = coarse_sign * tinyrt_mve_raise(1, p->left_shift - 1);
    const tinyrt_mve_sum sum = {
        .coarse_factor = coarse_factor,
        .coarse_offset = -coarse_zp * coarse_factor,
        .fine_factor = tinyrt_mve_raise(1, raised),
        .fine_offset = -fine_zp * tinyrt_mve_raise(1, raised),
        .fine_mult = *swap ? p->a_mult : p->b_mult,
        .fine_shift = fine_shift == 0 ? -1 : fine_shift,
        .fine_sign = *swap ? 1 : sign,
    };
    return sum;
}

static inline int32x4_t tinyrt_mve_add_four(const tinyrt_mve_sum *sum, int32x4_t coarse,
                                            int32x4_t fine) {
    int32x4_t value = vmlasq_n_s32(fine, vdupq_n_s32(sum->fine_factor), sum->fine_offset);
    value = vqrdmulhq_n_s32(value, sum->fine_mult);
    value = vaddq_s32(value, vshrq_n_s32(value, 31));
    value = vrshlq_n_s32(value, sum->fine_shift);
    coarse = vmlasq_n_s32(coarse, vdupq_n_s32(sum->coarse_factor), sum->coarse_offset);
    return vmlaq_n_s32(coarse, value, sum->fine_sign);
}

/** Four outputs of a sum. positive: act_min >= y_zp, so that results below 0 need no rounding. */
static inline int32x4_t tinyrt_mve_finish_sum(const tinyrt_add_s8_params *p, int positive,
                                              int32x4_t value) {
    value = vqrdmulhq_n_s32(value, p->y_mult);
    if (positive) {
        value = vrshlq_n_s32(value, p->y_shift);
    } else {
        value = tinyrt_mve_rounding_shift_right(value, vdupq_n_s32(p->y_shift));
    }
    value = vaddq_n_s32(value, p->y_zp);
    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(p->act_min)), vdupq_n_s32(p->act_max));
}

/** One run of the output; an operand whose step is 0 repeats. */
static inline void tinyrt_mve_add_run(const tinyrt_add_s8_params *p, const tinyrt_mve_sum *sum,
                                      int positive, const int8_t *coarse, int32_t coarse_step,
                                      const int8_t *fine, int32_t fine_step, int32_t length,
                                      int8_t *y) {
    int32x4_t first = vdupq_n_s32(*coarse);
    int32x4_t second = vdupq_n_s32(*fine);
    if (coarse_step != 0 && fine_step != 0) {
        for (int32_t fours = length / 4; fours > 0; --fours) {
            const int32x4_t value = tinyrt_mve_add_four(sum, vldrbq_s32(coarse), vldrbq_s32(fine));
            vstrbq_s32(y, tinyrt_mve_finish_sum(p, positive, value));
            coarse += 4;
            fine += 4;
            y += 4;
        }
        length %= 4;
    }
    for (; length > 0; length -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)length);
        first = coarse_step != 0 ? vldrbq_z_s32(coarse, lanes) : first;
        second = fine_step != 0 ? vldrbq_z_s32(fine, lanes) : second;
        const int32x4_t value = tinyrt_mve_add_four(sum, first, second);
        vstrbq_p_s32(y, tinyrt_mve_finish_sum(p, positive, value), lanes);
        coarse += 4 * coarse_step;
        fine += 4 * fine_step;
        y += 4;
    }
}

/** y = clamp(requant(rescaled a + sign * rescaled b) + y_zp). */
static inline void tinyrt_mve_add(const tinyrt_add_s8_params *p, int32_t sign, const int8_t *a,
                                  const int8_t *b, int8_t *y) {
    const tinyrt_broadcast *shape = &p->shape;
    const int32_t outer = shape->rank - 1;
    const int32_t length = shape->dims[outer];
    int swap;
    const tinyrt_mve_sum sum = tinyrt_mve_sum_of(p, sign, &swap);
    const int32_t *const coarse_strides = swap ? shape->b_strides : shape->a_strides;
    const int32_t *const fine_strides = swap ? shape->a_strides : shape->b_strides;
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int8_t *coarse = (swap ? b : a) + tinyrt_flat_index(outer, coarse_strides, index);
        const int8_t *fine = (swap ? a : b) + tinyrt_flat_index(outer, fine_strides, index);
        if (p->act_min >= p->y_zp) {
            tinyrt_mve_add_run(p, &sum, 1, coarse, coarse_strides[outer], fine, fine_strides[outer],
                               length, y);
        } else {
            tinyrt_mve_add_run(p, &sum, 0, coarse, coarse_strides[outer], fine, fine_strides[outer],
                               length, y);
        }
        y += length;
    } while (tinyrt_next_index(outer, shape->dims, index));
}

#endif
