#include "tinyrt_mul.h"

#include "tinyrt_mve.h"
#include "tinyrt_rows_of_pairs.h"

/** Lanes of a product. */
#define LANES 4

/** Four outputs. */
static inline int32x4_t product(tinyrt_times_s8_params p, int32x4_t shift, int32x4_t a,
                                int32x4_t b) {
    const int32x4_t factor = vmlasq_n_s32(b, vdupq_n_s32(p.b_factor), p.b_addend);
    const int32x4_t doubled = vmulq_s32(vsubq_n_s32(a, p.a_zp), factor);
    const int32x4_t high = vrmulhq_s32(doubled, vdupq_n_s32(p.y_mult));
    const int32x4_t value = vaddq_n_s32(tinyrt_mve_rounding_shift_right(high, shift), p.y_zp);
    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
}

/** A row of neighbours, which are loaded as they lie, or of elements at any distance; dense is a
 *  constant where this is called. */
static inline void products(tinyrt_times_s8_params p, int dense, const int8_t *a, int32_t a_step,
                            const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    const int32x4_t shift = vdupq_n_s32(1 - p.next_shift);
    const uint32x4_t lane = vidupq_n_u32(0, 1);
    const uint32x4_t a_lanes = vmulq_n_u32(lane, (uint32_t)a_step);
    const uint32x4_t b_lanes = vmulq_n_u32(lane, (uint32_t)b_step);
    for (; count > 0; count -= LANES, y += LANES) {
        const mve_pred16_t lanes = vctp32q((uint32_t)count);
        const int32x4_t from_a =
            dense ? vldrbq_z_s32(a, lanes) : vldrbq_gather_offset_z_s32(a, a_lanes, lanes);
        const int32x4_t from_b =
            dense ? vldrbq_z_s32(b, lanes) : vldrbq_gather_offset_z_s32(b, b_lanes, lanes);
        vstrbq_p_s32(y, product(p, shift, from_a, from_b), lanes);
        a += LANES * a_step;
        b += LANES * b_step;
    }
}

static void row(const void *params, const int8_t *a, int32_t a_step, const int8_t *b,
                int32_t b_step, int32_t count, int8_t *y) {
    const tinyrt_times_s8_params p = *(const tinyrt_times_s8_params *)params;
    if ((a_step == 1) && (b_step == 1)) {
        products(p, 1, a, 1, b, 1, count, y);
    } else {
        products(p, 0, a, a_step, b, b_step, count, y);
    }
}

void tinyrt_times_s8(const tinyrt_times_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_row(&p->shape, row, p, a, b, y);
}
