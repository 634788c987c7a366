/** Rescaled sums and differences of int16. No multiplier goes left, and inputs go left by 15 bits
 *  first, as many as there is room for. */
#ifndef TINYRT_SUMS_S16_H
#define TINYRT_SUMS_S16_H

#include "tinyrt_add.h"
#include "tinyrt_fixedpoint.h"
#include "tinyrt_rows_of_pairs.h"
#include "tinyrt_simd.h"

/** A number times mult * 2^-(31 + right), rounded twice: half is 2^(right - 1), below has all bits
 *  set; where right is 0, both are 0. */
typedef struct {
    int32_t mult;
    int32_t below;
    int32_t half;
    int32_t right;
} tinyrt_scale_down;

static inline tinyrt_scale_down tinyrt_scale_down_of(int32_t mult, int32_t shift) {
    const int32_t right = -shift;
    const tinyrt_scale_down scale = {mult, (right > 0) ? -1 : 0,
                                     (int32_t)((UINT32_C(1) << right) >> 1), right};
    return scale;
}

/** Half of a second rounding's step, less by 1 where that rounds a negative number. Of 0, which a
 *  negative number may become first, both give the same. */
static inline int32_t tinyrt_rounding_of(const tinyrt_scale_down *scale, int32_t value) {
    return scale->half + ((value >> 31) & scale->below);
}

static inline int32_t tinyrt_scaled_half(const tinyrt_scale_down *scale, int32_t x) {
    return tinyrt_add_half_mul(x, scale->mult, tinyrt_rounding_of(scale, x)) >> scale->right;
}

/** A sum a + sign * b before it is limited. */
static inline int32_t tinyrt_sum_s16(const tinyrt_scale_down *scales, int32_t sign, int32_t a,
                                     int32_t b) {
    const int32_t first = tinyrt_scaled_half(scales, a);
    const int32_t sum = first + (sign * tinyrt_scaled_half(scales + 1, b));
    const tinyrt_scale_down *const of_y = scales + 2;
    const int32_t rounding = tinyrt_rounding_of(of_y, sum);
    return tinyrt_add_doubling_high_mul(sum, of_y->mult, rounding) >> of_y->right;
}

/** A row of them; most are of neighbours, and limited by their type alone. */
static inline void tinyrt_sums_row_s16(const tinyrt_add_s8_params *p, int32_t sign,
                                       const int16_t *a, int32_t a_step, const int16_t *b,
                                       int32_t b_step, int32_t count, int16_t *y) {
    const tinyrt_scale_down scales[3] = {
        tinyrt_scale_down_of(p->a_mult, p->a_shift),
        tinyrt_scale_down_of(p->b_mult, p->b_shift),
        tinyrt_scale_down_of(p->y_mult, p->y_shift),
    };
    const int32_t act_min = p->act_min, act_max = p->act_max;
    const int16_t *const end = y + count;
    if ((a_step == 1) && (b_step == 1) && (act_min == INT16_MIN) && (act_max == INT16_MAX)) {
        while (y != end) {
            *y++ = (int16_t)tinyrt_saturate_s16(tinyrt_sum_s16(scales, sign, *a++, *b++));
        }
        return;
    }
    for (; y != end; a += a_step, b += b_step) {
        *y++ = (int16_t)tinyrt_clamp(tinyrt_sum_s16(scales, sign, *a, *b), act_min, act_max);
    }
}

#endif
