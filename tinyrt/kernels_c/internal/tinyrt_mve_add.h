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
    const int32_t raised = (fine_shift == 0) ? (p->left_shift + 1) : p->left_shift;
    const int32_t coarse_factor = coarse_sign * tinyrt_mve_raise(1, p->left_shift - 1);
    const tinyrt_mve_sum sum = {
        .coarse_factor = coarse_factor,
        .coarse_offset = -coarse_zp * coarse_factor,
        .fine_factor = tinyrt_mve_raise(1, raised),
        .fine_offset = -fine_zp * tinyrt_mve_raise(1, raised),
        .fine_mult = *swap ? p->a_mult : p->b_mult,
        .fine_shift = (fine_shift == 0) ? -1 : fine_shift,
        .fine_sign = *swap ? 1 : sign,
    };
    return sum;
}

/** Four outputs. */
static inline int32x4_t tinyrt_mve_add_four(const tinyrt_add_s8_params *p,
                                            const tinyrt_mve_sum *sum, int32x4_t coarse,
                                            int32x4_t fine) {
    const int32x4_t y_shift = vdupq_n_s32(p->y_shift);
    int32x4_t value = vmlasq_n_s32(fine, vdupq_n_s32(sum->fine_factor), sum->fine_offset);
    value = vqrdmulhq_n_s32(value, sum->fine_mult);
    value = vaddq_s32(value, vshrq_n_s32(value, 31));
    value = vrshlq_n_s32(value, sum->fine_shift);
    coarse = vmlasq_n_s32(coarse, vdupq_n_s32(sum->coarse_factor), sum->coarse_offset);
    value = vqrdmulhq_n_s32(vmlaq_n_s32(coarse, value, sum->fine_sign), p->y_mult);
    value = vaddq_n_s32(tinyrt_mve_rounding_shift_right(value, y_shift), p->y_zp);
    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(p->act_min)), vdupq_n_s32(p->act_max));
}

/** One run of the output; an operand whose step is 0 repeats. */
static inline void tinyrt_mve_add_run(const tinyrt_add_s8_params *p, const tinyrt_mve_sum *sum,
                                      const int8_t *coarse, int32_t coarse_step, const int8_t *fine,
                                      int32_t fine_step, int32_t length, int8_t *y) {
    int32x4_t first = vdupq_n_s32(*coarse);
    int32x4_t second = vdupq_n_s32(*fine);
    for (; length > 0; length -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)length);
        first = (coarse_step != 0) ? vldrbq_z_s32(coarse, lanes) : first;
        second = (fine_step != 0) ? vldrbq_z_s32(fine, lanes) : second;
        vstrbq_p_s32(y, tinyrt_mve_add_four(p, sum, first, second), lanes);
        coarse += 4 * coarse_step;
        fine += 4 * fine_step;
        y += 4;
    }
}

#if TINYRT_ASM_LOOPS

/* The compiler runs out of registers for the constants. */

#define TINYRT_MVE_ADD_LOOP(combine, round)                                                        \
    __asm volatile(                                                                                \
        "wlstp.32 lr, lr, 2f\n"                                                                    \
        "1:\n"                                                                                     \
        "vldrb.s32 q0, [%[fine]], #4\n"                                                            \
        "vldrb.s32 q1, [%[coarse]], #4\n"                                                          \
        "vmlas.s32 q0, %q[fine_factor], %[fine_offset]\n"                                          \
        "vmlas.s32 q1, %q[coarse_factor], %[coarse_offset]\n"                                      \
        "vqrdmulh.s32 q0, q0, %[fine_mult]\n"                                                      \
        "vshr.s32 q2, q0, #31\n"                                                                   \
        "vadd.i32 q0, q0, q2\n"                                                                    \
        "vrshl.s32 q0, %[fine_shift]\n" combine " q1, q1, q0\n"                                    \
        "vqrdmulh.s32 q1, q1, %[y_mult]\n" round "vrshl.s32 q1, q1, %q[y_shift]\n"                 \
        "vadd.i32 q1, q1, %[y_zp]\n"                                                               \
        "vmax.s32 q1, q1, %q[act_min]\n"                                                           \
        "vmin.s32 q1, q1, %q[act_max]\n"                                                           \
        "vstrb.32 q1, [%[y]], #4\n"                                                                \
        "letp lr, 1b\n"                                                                            \
        "2:\n"                                                                                     \
        : [fine] "+l"(fine), [coarse] "+l"(coarse), [y] "+l"(y), "+r"(count)                       \
        : [fine_offset] "r"(sum->fine_offset), [coarse_offset] "r"(sum->coarse_offset),            \
          [fine_mult] "r"(sum->fine_mult), [fine_shift] "r"(sum->fine_shift),                      \
          [y_mult] "r"(p->y_mult), [y_zp] "r"(p->y_zp),                                            \
          [fine_factor] "w"(vdupq_n_s32(sum->fine_factor)),                                        \
          [coarse_factor] "w"(vdupq_n_s32(sum->coarse_factor)),                                    \
          [y_shift] "w"(vdupq_n_s32(p->y_shift)), [act_min] "w"(vdupq_n_s32(p->act_min)),          \
          [act_max] "w"(vdupq_n_s32(p->act_max))                                                   \
        : "q0", "q1", "q2", "memory")

/** Rounds q1 as tinyrt_mve_rounding_shift_right does; what is clamped needs no rounding. */
#define TINYRT_MVE_ADD_ROUND                                                                       \
    "vand q2, q1, %q[y_shift]\n"                                                                   \
    "vshr.s32 q2, q2, #31\n"                                                                       \
    "vqadd.s32 q1, q1, q2\n"

/** A run in which nothing repeats. Not inline: the loop needs nearly every register. */
__attribute__((noinline)) static void tinyrt_mve_add_dense(const tinyrt_add_s8_params *p,
                                                           const tinyrt_mve_sum *sum,
                                                           const int8_t *coarse, const int8_t *fine,
                                                           int32_t length, int8_t *y) {
    const int positive = p->act_min >= p->y_zp;
    register int32_t count __asm("lr") = length;
    if ((sum->fine_sign > 0) && positive) {
        TINYRT_MVE_ADD_LOOP("vadd.i32", "");
    } else if (sum->fine_sign > 0) {
        TINYRT_MVE_ADD_LOOP("vadd.i32", TINYRT_MVE_ADD_ROUND);
    } else if (positive != 0) {
        TINYRT_MVE_ADD_LOOP("vsub.i32", "");
    } else {
        TINYRT_MVE_ADD_LOOP("vsub.i32", TINYRT_MVE_ADD_ROUND);
    }
}

#else

/** Fours of a run in which nothing repeats; positive is a constant where this is called. */
static inline void tinyrt_mve_add_fours(const tinyrt_add_s8_params *p, const tinyrt_mve_sum *sum,
                                        int positive, const int8_t *coarse, const int8_t *fine,
                                        int32_t fours, int8_t *y) {
    const tinyrt_mve_sum s = *sum;
    const int32_t y_mult = p->y_mult;
    const int32_t y_zp = p->y_zp;
    const int32x4_t coarse_factor = vdupq_n_s32(s.coarse_factor);
    const int32x4_t fine_factor = vdupq_n_s32(s.fine_factor);
    const int32x4_t y_shift = vdupq_n_s32(p->y_shift);
    const int32x4_t act_min = vdupq_n_s32(p->act_min);
    const int32x4_t act_max = vdupq_n_s32(p->act_max);
    for (; fours > 0; --fours) {
        int32x4_t value = vmlasq_n_s32(vldrbq_s32(fine), fine_factor, s.fine_offset);
        value = vqrdmulhq_n_s32(value, s.fine_mult);
        value = vaddq_s32(value, vshrq_n_s32(value, 31));
        value = vrshlq_n_s32(value, s.fine_shift);
        int32x4_t total = vmlasq_n_s32(vldrbq_s32(coarse), coarse_factor, s.coarse_offset);
        total = vqrdmulhq_n_s32(vmlaq_n_s32(total, value, s.fine_sign), y_mult);
        total =
            positive ? vrshlq_s32(total, y_shift) : tinyrt_mve_rounding_shift_right(total, y_shift);
        total = vaddq_n_s32(total, y_zp);
        vstrbq_s32(y, vminq_s32(vmaxq_s32(total, act_min), act_max));
        fine += 4;
        coarse += 4;
        y += 4;
    }
}

static inline void tinyrt_mve_add_dense(const tinyrt_add_s8_params *p, const tinyrt_mve_sum *sum,
                                        const int8_t *coarse, const int8_t *fine, int32_t length,
                                        int8_t *y) {
    const int32_t whole = length & ~3;
    if (p->act_min >= p->y_zp) {
        tinyrt_mve_add_fours(p, sum, 1, coarse, fine, whole >> 2, y);
    } else {
        tinyrt_mve_add_fours(p, sum, 0, coarse, fine, whole >> 2, y);
    }
    if (whole != length) {
        tinyrt_mve_add_run(p, sum, coarse + whole, 1, fine + whole, 1, length - whole, y + whole);
    }
}

#endif

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
        if ((coarse_strides[outer] != 0) && (fine_strides[outer] != 0)) {
            tinyrt_mve_add_dense(p, &sum, coarse, fine, length, y);
        } else {
            tinyrt_mve_add_run(p, &sum, coarse, coarse_strides[outer], fine, fine_strides[outer],
                               length, y);
        }
        y += length;
    } while (tinyrt_next_index(outer, shape->dims, index) != 0);
}

#endif
