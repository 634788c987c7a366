/** One row of a matrix product on cores with MVE, four channels at a time, as the function
 *  TINYRT_KERNEL over weights of TINYRT_WEIGHT_BITS, which are set where this is included. */
#ifndef TINYRT_PRODUCT_ROW_LOOP_H
#define TINYRT_PRODUCT_ROW_LOOP_H

#include "tinyrt_mve_dot.h"
#include "tinyrt_mve_finish.h"

void TINYRT_KERNEL(const tinyrt_product_s8_params *p, const tinyrt_product_scales *scales,
                   const int8_t *x, const int8_t *w, int8_t *y) {
    const tinyrt_mve_outputs outputs = tinyrt_mve_outputs_of(p);
    const uint32_t patch = tinyrt_mve_patch(p->length);
    const int32_t *bias = scales->bias;
    const int32_t *mults = scales->mult;
    const int8_t *shifts = scales->shift;
    const int32_t step = scales->mult_step;
    int32x4_t mult = vdupq_n_s32(*mults);
    int32x4_t shift = vdupq_n_s32(*shifts);
    x += tinyrt_mve_first_bytes(p->length);
    for (int32_t left = p->c_out; left > 0; left -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        if (step != 0) {
            mult = vldrwq_z_s32(mults, lanes);
            shift = vldrbq_z_s32(shifts, lanes);
        }
        const int32x4_t sums = vaddq_s32(tinyrt_mve_next_dot(patch, x, &w), vldrwq_s32(bias));
        vstrbq_p_s32(y, tinyrt_mve_finish(outputs, sums, mult, shift), lanes);
        bias += scales->bias_step;
        mults += step;
        shifts += scales->shift_step;
        y += 4;
    }
}

#endif
