/** Requantisation of sums with a scale to each lane, for cores with MVE. */
#ifndef TINYRT_MVE_FINISH_H
#define TINYRT_MVE_FINISH_H

#include "tinyrt_mve.h"
#include "tinyrt_product_types.h"

/** What all outputs share. */
typedef struct {
    int32x4_t act_min;
    int32x4_t act_max;
    int32_t y_zp;
    int32_t rounding;
} tinyrt_mve_outputs;

static inline tinyrt_mve_outputs tinyrt_mve_outputs_of(const tinyrt_product_s8_params *p) {
    const tinyrt_mve_outputs outputs = {.act_min = vdupq_n_s32(p->act_min),
                                        .act_max = vdupq_n_s32(p->act_max),
                                        .y_zp = p->y_zp,
                                        .rounding = p->rounding};
    return outputs;
}

/** Four outputs before they are narrowed. */
static inline int32x4_t tinyrt_mve_finish(tinyrt_mve_outputs outputs, int32x4_t value,
                                          int32x4_t mult, int32x4_t shift) {
    if (outputs.rounding == TINYRT_ROUNDING_ANY) {
        const int32x4_t zero = vdupq_n_s32(0);
        value = vqrdmulhq_s32(vshlq_s32(value, vmaxq_s32(shift, zero)), mult);
        value = tinyrt_mve_rounding_shift_right(value, vminq_s32(shift, zero));
    } else {
        /* The high half of twice the sum, times 1, is its sign; times 0 it is nothing. */
        value = vqdmlahq_n_s32(vqrdmulhq_s32(value, mult), value, outputs.rounding);
        value = vrshlq_s32(value, shift);
    }
    value = vaddq_n_s32(value, outputs.y_zp);
    return vminq_s32(vmaxq_s32(value, outputs.act_min), outputs.act_max);
}

#endif
