#include "tinyrt_mul.h"

#include "tinyrt_mve_rows_of_pairs.h"

/** What all products of a row have in common. */
typedef struct {
    tinyrt_times_s8_params p;
    int32x4_t shift;
} products_s8;

static inline int32x4_t product(const void *values, int32x4_t a, int32x4_t b) {
    const products_s8 *of = values;
    const int32x4_t factor = vmlasq_n_s32(b, vdupq_n_s32(of->p.b_factor), of->p.b_addend);
    const int32x4_t doubled = vmulq_s32(vsubq_n_s32(a, of->p.a_zp), factor);
    const int32x4_t high = vrmulhq_s32(doubled, vdupq_n_s32(of->p.y_mult));
    const int32x4_t value =
        vaddq_n_s32(tinyrt_mve_rounding_shift_right(high, of->shift), of->p.y_zp);
    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
}

static void row(const void *params, const int8_t *a, int32_t a_step, const int8_t *b,
                int32_t b_step, int32_t count, int8_t *y) {
    const tinyrt_times_s8_params *p = params;
    const products_s8 of = {.p = *p, .shift = vdupq_n_s32(1 - p->next_shift)};
    tinyrt_mve_row_s8(product, &of, a, a_step, b, b_step, count, y);
}

void tinyrt_times_s8(const tinyrt_times_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_row(&p->shape, row, p, a, b, y);
}
