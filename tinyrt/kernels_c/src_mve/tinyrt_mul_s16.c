#include "tinyrt_mul.h"

#include "tinyrt_mve_rows_of_pairs.h"

/** What all products of a row have in common: left and right are the parts of the shift. */
typedef struct {
    tinyrt_mul_s8_params p;
    int32_t left;
    int32x4_t right;
} products_s16;

static inline int32x4_t product(const void *values, int32x4_t a, int32x4_t b) {
    const products_s16 *of = values;
    const int32x4_t raised = vshlq_r_s32(vmulq_s32(a, b), of->left);
    const int32x4_t high = vqrdmulhq_n_s32(raised, of->p.y_mult);
    const int32x4_t value = tinyrt_mve_rounding_shift_right(high, of->right);
    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(of->p.act_min)), vdupq_n_s32(of->p.act_max));
}

static void row(const void *params, const int16_t *a, int32_t a_step, const int16_t *b,
                int32_t b_step, int32_t count, int16_t *y) {
    const tinyrt_mul_s8_params *p = params;
    const int32_t left = (p->y_shift > 0) ? p->y_shift : 0;
    const products_s16 of = {.p = *p, .left = left, .right = vdupq_n_s32(p->y_shift - left)};
    tinyrt_mve_row_s16(product, &of, a, a_step, b, b_step, count, y);
}

void tinyrt_mul_s16(const tinyrt_mul_s8_params *p, const int16_t *a, const int16_t *b, int16_t *y) {
    tinyrt_for_each_row_s16(&p->shape, row, p, a, b, y);
}
