/** Of an axis of a window, whose numbers are axes apart: sums, and what its spectrum is taken of.
 */
#ifndef TINYRT_AXIS_H
#define TINYRT_AXIS_H

#include "tinyrt_axis_sums.h"
#include "tinyrt_mve.h"

static inline tinyrt_axis_sums tinyrt_axis_sums_of(const int16_t *x, int32_t axes, int32_t count) {
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)axes);
    int32_t sum = 0;
    int64_t squares = 0;
    int16x8_t low = vdupq_n_s16(INT16_MAX);
    int16x8_t high = vdupq_n_s16(INT16_MIN);
    for (int32_t i = 0; i < count; i += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)(count - i));
        const int16x8_t value = vldrhq_gather_shifted_offset_z_s16(x + (i * axes), places, lanes);
        sum = vaddvaq_s16(sum, value);
        squares = vmlaldavaq_s16(squares, value, value);
        low = vminq_m_s16(low, low, value, lanes);
        high = vmaxq_m_s16(high, high, value, lanes);
    }
    const tinyrt_axis_sums sums = {sum, vminvq_s16(INT16_MAX, low), vmaxvq_s16(INT16_MIN, high),
                                   (uint64_t)squares};
    return sums;
}

/** y = (((x - mean) << up) * weight) >> 13. */
static inline void tinyrt_axis_raised(const int16_t *x, int32_t axes, int32_t count, int32_t mean,
                                      int32_t up, const int16_t *weights, int16_t *y) {
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)axes);
    for (int32_t i = 0; i < count; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(count - i));
        const int32x4_t value = vldrhq_gather_shifted_offset_z_s32(x + (i * axes), places, lanes);
        const int32x4_t difference = vshlq_r_s32(vsubq_n_s32(value, mean), up);
        const int32x4_t product = vmulq_s32(difference, vldrhq_z_s32(weights + i, lanes));
        vstrhq_p_s32(y + i, vshrq_n_s32(product, 13), lanes);
    }
}

#endif
