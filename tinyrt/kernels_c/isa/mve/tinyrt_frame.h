/** The first steps of a front end's frame, with vectors. */
#ifndef TINYRT_FRAME_H
#define TINYRT_FRAME_H

#include "tinyrt_mve.h"

/** x * w / 2^12, rounded down. */
static inline int16x8_t tinyrt_weighted_lanes(int16x8_t x, int16x8_t w) {
    const int16x8_t even = vshrnbq_n_s32(x, vmullbq_int_s16(x, w), 12);
    return vshrntq_n_s32(even, vmulltq_int_s16(x, w), 12);
}

/** y = x * w / 2^12, rounded down, of w in [0, 2^12]. Returns a number with as many bits as the
 *  largest size; that of -32768, which an int16 does not hold, does not count. */
static inline uint32_t tinyrt_windowed(int32_t size, const int16_t *x, const int16_t *w,
                                       int16_t *y) {
    const int32_t whole = size & ~7;
    int16x8_t sizes = vdupq_n_s16(0);
    for (int32_t i = 0; i < whole; i += 8) {
        const int16x8_t product = tinyrt_weighted_lanes(vldrhq_s16(x + i), vldrhq_s16(w + i));
        sizes = vorrq_s16(sizes, vabsq_s16(product));
        vstrhq_s16(y + i, product);
    }
    const mve_pred16_t lanes = vctp16q((uint32_t)(size - whole));
    const int16x8_t last =
        tinyrt_weighted_lanes(vldrhq_z_s16(x + whole, lanes), vldrhq_z_s16(w + whole, lanes));
    vstrhq_p_s16(y + whole, last, lanes);
    sizes = vorrq_s16(sizes, vabsq_s16(last));
    const uint32x4_t words = vreinterpretq_u32_s16(sizes);
    const uint32_t all = vgetq_lane_u32(words, 0) | vgetq_lane_u32(words, 1) |
                         vgetq_lane_u32(words, 2) | vgetq_lane_u32(words, 3);
    return (all | (all >> 16)) & INT16_MAX;
}

/** y = y * 2^shift, modulo 2^16. */
static inline void tinyrt_shifted_left(int32_t size, int32_t shift, int16_t *y) {
    const int32_t whole = size & ~7;
    for (int32_t i = 0; i < whole; i += 8) {
        vstrhq_s16(y + i, vshlq_r_s16(vldrhq_s16(y + i), shift));
    }
    const mve_pred16_t lanes = vctp16q((uint32_t)(size - whole));
    vstrhq_p_s16(y + whole, vshlq_r_s16(vldrhq_z_s16(y + whole, lanes), shift), lanes);
}

#endif
