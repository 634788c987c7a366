/** Four pixels of a depthwise layer of floats with few channels: a vector has a channel of all
 * four. tinyrt_few_taps_c.h says what it does. */
#ifndef TINYRT_FEW_TAPS_H
#define TINYRT_FEW_TAPS_H

#include "tinyrt_types.h"

#if (__ARM_FEATURE_MVE & 2) != 0

#include "tinyrt_channel_taps.h"
#include "tinyrt_mve.h"

/** A channel of four pixels, or of none where there are not so many; places are those of pixels. */
static inline float32x4_t tinyrt_four_of(const float *x, uint32x4_t places, int32_t c,
                                         int32_t channels) {
    return (c < channels) ? vldrwq_gather_shifted_offset_f32(x + c, places) : vdupq_n_f32(0.0F);
}

static inline void tinyrt_few_taps(const tinyrt_channel_taps *taps, int32_t channels,
                                   int32_t x_step, const float *x, const float *w,
                                   const float *from, float *sum) {
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)x_step);
    const uint32x4_t own = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)channels);
    float32x4_t acc0 = tinyrt_four_of(from, own, 0, channels);
    float32x4_t acc1 = tinyrt_four_of(from, own, 1, channels);
    float32x4_t acc2 = tinyrt_four_of(from, own, 2, channels);
    float32x4_t acc3 = tinyrt_four_of(from, own, 3, channels);
    for (int32_t rows = taps->rows; rows > 0; --rows, x += taps->x_next, w += taps->w_next) {
        for (int32_t left = taps->columns; left > 0; --left, x += channels, w += channels) {
            acc0 = vfmaq_n_f32(acc0, tinyrt_four_of(x, places, 0, channels), w[0]);
            if (channels > 1) {
                acc1 = vfmaq_n_f32(acc1, tinyrt_four_of(x, places, 1, channels), w[1]);
            }
            if (channels > 2) {
                acc2 = vfmaq_n_f32(acc2, tinyrt_four_of(x, places, 2, channels), w[2]);
            }
            if (channels > 3) {
                acc3 = vfmaq_n_f32(acc3, tinyrt_four_of(x, places, 3, channels), w[3]);
            }
        }
    }
    vstrwq_scatter_shifted_offset_f32(sum, own, acc0);
    if (channels > 1) {
        vstrwq_scatter_shifted_offset_f32(sum + 1, own, acc1);
    }
    if (channels > 2) {
        vstrwq_scatter_shifted_offset_f32(sum + 2, own, acc2);
    }
    if (channels > 3) {
        vstrwq_scatter_shifted_offset_f32(sum + 3, own, acc3);
    }
}

static inline void tinyrt_few_of_pixel(const tinyrt_channel_taps *taps, int32_t channels,
                                       const float *x, const float *w, const float *from,
                                       float *sum) {
    const mve_pred16_t are = vctp32q((uint32_t)channels);
    float32x4_t acc = vldrwq_z_f32(from, are);
    for (int32_t rows = taps->rows; rows > 0; --rows, x += taps->x_next, w += taps->w_next) {
        for (int32_t left = taps->columns; left > 0; --left) {
            acc = vfmaq_f32(acc, vldrwq_z_f32(x, are), vldrwq_z_f32(w, are));
            x += taps->x_tap;
            w += taps->w_tap;
        }
    }
    vstrwq_p_f32(sum, acc, are);
}

#else
#include "tinyrt_few_taps_c.h"
#endif

#endif
