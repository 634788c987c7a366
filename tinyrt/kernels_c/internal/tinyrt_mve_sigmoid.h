/** logistic and tanh by one table, four values at a time, for cores with MVE. */
#ifndef TINYRT_MVE_SIGMOID_H
#define TINYRT_MVE_SIGMOID_H

#include "tinyrt_mve.h"

/** tanh's magnitude between the table's entries, at magnitudes in steps of 1 / 2^bits of one. What
 *  lies beyond its end is what lies right before it. */
static inline int32x4_t tinyrt_mve_sigmoid(const int16_t *table, int32x4_t magnitude, int bits) {
    const int32x4_t inside = vminq_s32(magnitude, vdupq_n_s32((255 << bits) - 1));
    const uint32x4_t index =
        vreinterpretq_u32_s32((bits == 9) ? vshrq_n_s32(inside, 9) : vshrq_n_s32(inside, 8));
    const int32x4_t first = vldrhq_gather_shifted_offset_s32(table + 1, index);
    const int32x4_t second = vldrhq_gather_shifted_offset_s32(table + 2, index);
    const int32x4_t rest = vandq_s32(inside, vdupq_n_s32((1 << bits) - 1));
    return vmlaq_n_s32(vmulq_s32(rest, vsubq_s32(first, second)), first, -(1 << bits));
}

/** As tinyrt_logistic_of: halves are rounded up, and the complement of a value down, as those of
 *  negative positions are. */
static inline int32x4_t tinyrt_mve_logistic(const int16_t *table, int32x4_t position) {
    const int32x4_t sign = vshrq_n_s32(position, 31);
    const int32x4_t value = tinyrt_mve_sigmoid(table, vabsq_s32(position), 9);
    return vaddq_n_s32(vrshrq_n_s32(veorq_s32(value, sign), 10), 1 << 14);
}

/** As tinyrt_tanh_of, likewise. */
static inline int32x4_t tinyrt_mve_tanh(const int16_t *table, int32x4_t position) {
    const int32x4_t sign = vshrq_n_s32(position, 31);
    const int32x4_t value = tinyrt_mve_sigmoid(table, vabsq_s32(position), 8);
    return vrshrq_n_s32(veorq_s32(value, sign), 8);
}

#endif
