/** logistic and tanh by one table, four values at a time, for cores with MVE. */
#ifndef TINYRT_MVE_SIGMOID_H
#define TINYRT_MVE_SIGMOID_H

#include "tinyrt_mve.h"

/** The table between its entries, at magnitudes in steps of 1 / 2^bits of one. What lies beyond its
 *  end is what lies right before it. */
static inline int32x4_t tinyrt_mve_sigmoid(const uint16_t *table, int32x4_t magnitude, int bits) {
    const int32x4_t inside = vminq_s32(magnitude, vdupq_n_s32((255 << bits) - 1));
    const uint32x4_t index =
        vreinterpretq_u32_s32((bits == 9) ? vshrq_n_s32(inside, 9) : vshrq_n_s32(inside, 8));
    const int32x4_t first = vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(table, index));
    const int32x4_t second =
        vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(table + 1, index));
    const int32x4_t rest = vandq_s32(inside, vdupq_n_s32((1 << bits) - 1));
    return vaddq_s32(vmulq_n_s32(first, 1 << bits), vmulq_s32(rest, vsubq_s32(second, first)));
}

/** As tinyrt_logistic_of: halves are rounded up, and the complement of a value down, as those of
 *  negative positions are. */
static inline int32x4_t tinyrt_mve_logistic(const uint16_t *table, int32x4_t position) {
    const int32x4_t sign = vshrq_n_s32(position, 31);
    const int32x4_t value = tinyrt_mve_sigmoid(table, vabsq_s32(position), 9);
    return vmlaq_n_s32(vrshrq_n_s32(veorq_s32(value, sign), 10), sign, -(1 << 15));
}

/** As tinyrt_tanh_of, likewise. */
static inline int32x4_t tinyrt_mve_tanh(const uint16_t *table, int32x4_t position) {
    const int32x4_t sign = vshrq_n_s32(position, 31);
    const int32x4_t value = vsubq_n_s32(tinyrt_mve_sigmoid(table, vabsq_s32(position), 8), 1 << 23);
    return vrshrq_n_s32(veorq_s32(value, sign), 8);
}

#endif
