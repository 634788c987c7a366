/** A function of int16 values by the table, eight at a time, as the function TINYRT_KERNEL, where
 *  this is included. Positions are in steps of 1 / 2^TINYRT_BITS of an entry. TINYRT_BETWEEN(first,
 *  slope, rest) is what lies rest / 2^16 behind an entry, the function's magnitude without
 *  TINYRT_MIDDLE and negated; slope is without a sign. */
#ifndef TINYRT_MVE_SIGMOID_LOOP_H
#define TINYRT_MVE_SIGMOID_LOOP_H

#include "tinyrt_mve.h"
#include "tinyrt_sigmoid_s16.h"

/** Magnitudes of four positions; what lies beyond the table's end is what lies right before it. */
static inline int32x4_t tinyrt_mve_place(int32x4_t product, int32_t right) {
    const int32x4_t last = vdupq_n_s32((255 << TINYRT_BITS) - 1);
    return vminq_s32(vabsq_s32(vrshlq_n_s32(product, -right)), last);
}

void TINYRT_KERNEL(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y) {
    const int16_t *const table = p->table + 1;
    const int16x8_t mult = vdupq_n_s16((int16_t)p->mult);
    const int32_t right = p->right;
    for (int32_t left = p->size; left > 0; left -= 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)left);
        const int16x8_t value = vldrhq_z_s16(x, lanes);
        const int32x4_t evens = tinyrt_mve_place(vmullbq_int_s16(value, mult), right);
        const int32x4_t odds = tinyrt_mve_place(vmulltq_int_s16(value, mult), right);
        const int16x8_t low = vmovntq_s32(vreinterpretq_s16_s32(evens), odds);
        const uint16x8_t index = vreinterpretq_u16_s16(
            vshrntq_n_s32(vshrnbq_n_s32(low, evens, TINYRT_BITS), odds, TINYRT_BITS));
        const int16x8_t first = vldrhq_gather_shifted_offset_s16(table, index);
        const int16x8_t second = vldrhq_gather_shifted_offset_s16(table + 1, index);
        const uint16x8_t rest = vshlq_n_u16(vreinterpretq_u16_s16(low), 16 - TINYRT_BITS);
        const uint16x8_t slope = vreinterpretq_u16_s16(vsubq_s16(first, second));
        const int16x8_t between = TINYRT_BETWEEN(first, slope, rest);
        const int16x8_t signed_ = vnegq_m_s16(between, between, vcmpgeq_n_s16(value, 0));
        vstrhq_p_s16(y, TINYRT_MIDDLE(signed_), lanes);
        x += 8;
        y += 8;
    }
}

#endif
