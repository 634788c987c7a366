#include "tinyrt_mul.h"

#include "tinyrt_mve.h"
#include "tinyrt_rows_of_pairs.h"

/** Lanes of a product. */
#define LANES 4

/** Four outputs; left and right are the parts of the shift. */
static inline int32x4_t product(const tinyrt_mul_s8_params *p, int32_t left, int32x4_t right,
                                int32x4_t a, int32x4_t b) {
    const int32x4_t raised = vshlq_r_s32(vmulq_s32(a, b), left);
    const int32x4_t high = vqrdmulhq_n_s32(raised, p->y_mult);
    const int32x4_t value = tinyrt_mve_rounding_shift_right(high, right);
    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(p->act_min)), vdupq_n_s32(p->act_max));
}

/** A row of neighbours, which are loaded as they lie, or of elements at any distance; dense is a
 *  constant where this is called. */
static inline void products(const tinyrt_mul_s8_params *p, int dense, const int16_t *a,
                            int32_t a_step, const int16_t *b, int32_t b_step, int32_t count,
                            int16_t *y) {
    const int32_t left = (p->y_shift > 0) ? p->y_shift : 0;
    const int32x4_t right = vdupq_n_s32(p->y_shift - left);
    const uint32x4_t lane = vidupq_n_u32(0, 1);
    const uint32x4_t a_lanes = vmulq_n_u32(lane, (uint32_t)a_step);
    const uint32x4_t b_lanes = vmulq_n_u32(lane, (uint32_t)b_step);
    for (; count > 0; count -= LANES, y += LANES) {
        const mve_pred16_t lanes = vctp32q((uint32_t)count);
        const int32x4_t from_a =
            dense ? vldrhq_z_s32(a, lanes) : vldrhq_gather_shifted_offset_z_s32(a, a_lanes, lanes);
        const int32x4_t from_b =
            dense ? vldrhq_z_s32(b, lanes) : vldrhq_gather_shifted_offset_z_s32(b, b_lanes, lanes);
        vstrhq_p_s32(y, product(p, left, right, from_a, from_b), lanes);
        a += LANES * a_step;
        b += LANES * b_step;
    }
}

static void row(const void *params, const int16_t *a, int32_t a_step, const int16_t *b,
                int32_t b_step, int32_t count, int16_t *y) {
    const tinyrt_mul_s8_params p = *(const tinyrt_mul_s8_params *)params;
    if ((a_step == 1) && (b_step == 1)) {
        products(&p, 1, a, 1, b, 1, count, y);
    } else {
        products(&p, 0, a, a_step, b, b_step, count, y);
    }
}

void tinyrt_mul_s16(const tinyrt_mul_s8_params *p, const int16_t *a, const int16_t *b, int16_t *y) {
    tinyrt_for_each_row_s16(&p->shape, row, p, a, b, y);
}
