/** A function of int16 values by the table, as the function TINYRT_KERNEL, where this is included:
 *  TINYRT_FUNCTION is that of four positions. */
#ifndef TINYRT_MVE_SIGMOID_LOOP_H
#define TINYRT_MVE_SIGMOID_LOOP_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_mve_rescale.h"
#include "tinyrt_mve_sigmoid.h"
#include "tinyrt_sigmoid_s16.h"

/** Bits of a multiplier whose products with all inputs fit 32. */
#define TINYRT_MULT_BITS 16

/** A larger one, which goes with no shift, takes an input of 2 to the table's end. */
#define TINYRT_END (INT32_C(1) << 17)

void TINYRT_KERNEL(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y) {
    const int32_t reach = ((p->mult >> TINYRT_MULT_BITS) != 0) ? 2 : (1 << 15);
    const int32_t mult = tinyrt_clamp(p->mult, 0, TINYRT_END);
    for (int32_t left = p->size; left > 0; left -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        const int32x4_t value = tinyrt_mve_limit(vldrhq_z_s32(x, lanes), -reach, reach);
        const int32x4_t position = vrshlq_n_s32(vmulq_n_s32(value, mult), -p->right);
        vstrhq_p_s32(y, TINYRT_FUNCTION(p->table, position), lanes);
        x += 4;
        y += 4;
    }
}

#endif
