/** Requantisation of four sums that share a scale, for cores with MVE. */
#ifndef TINYRT_MVE_RESCALE_H
#define TINYRT_MVE_RESCALE_H

#include "tinyrt_mve.h"
#include "tinyrt_quads.h"

static inline int32x4_t tinyrt_mve_rescale(const tinyrt_quads_scale *scale, int32x4_t value) {
    value = vqrdmulhq_n_s32(vshlq_r_s32(value, scale->left), scale->mult);
    value = vmlaq_n_s32(value, vshrq_n_s32(value, 31), scale->below);
    return vrshlq_n_s32(value, scale->right);
}

/** Limited to [low, high]. */
static inline int32x4_t tinyrt_mve_limit(int32x4_t value, int32_t low, int32_t high) {
    return vmaxq_s32(vminq_s32(value, vdupq_n_s32(high)), vdupq_n_s32(low));
}

#endif
