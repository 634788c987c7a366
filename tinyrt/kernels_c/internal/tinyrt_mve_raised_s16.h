/** Int16 outputs of four channels whose accumulators fit 32 bits, for cores with MVE. */
#ifndef TINYRT_MVE_RAISED_S16_H
#define TINYRT_MVE_RAISED_S16_H

#include "tinyrt_mve.h"
#include "tinyrt_requant_s16.h"

/** Sets y to the outputs of channels oc to oc + 3 that lie in lanes. */
static inline void tinyrt_mve_raised_s16(const tinyrt_raised_s16 *p, const int32_t *bias,
                                         int32_t oc, int32x4_t sums, mve_pred16_t lanes,
                                         int16_t *y) {
    const int32x4_t acc = vaddq_s32(sums, vldrwq_s32(bias + (oc * p->bias_step)));
    const int32x4_t value = vrmulhq_s32(acc, vldrwq_s32(p->mult + (oc * p->mult_step)));
    const int32x4_t below = vminq_s32(value, vdupq_n_s32(p->act_max));
    vstrhq_p_s32(y, vmaxq_s32(below, vdupq_n_s32(p->act_min)), lanes);
}

#endif
