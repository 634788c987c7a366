/** The last step of transforms of real int16, four complex numbers in a vector. */
#ifndef TINYRT_RFFT_S16_H
#define TINYRT_RFFT_S16_H

#include "tinyrt_complex_lanes.h"
#include "tinyrt_rfft_words_s16.h"

#define TINYRT_RFFT_ROUND tinyrt_rfft_round_lanes
#define TINYRT_RFFT_PAIRS tinyrt_rfft_vectors

/** Pairs of samples step apart, radix of them; zeros behind the last sample. */
static inline void tinyrt_rfft_round_lanes(int32_t radix, int32_t step, int32_t at, int32_t x_size,
                                           const int16_t *x, int16_t *y) {
    const uint16x8_t lanes = vidupq_n_u16(0, 1);
    const uint16x8_t odd = vandq_u16(lanes, vdupq_n_u16(1));
    /* Lane i is of the pair i / 2. */
    const uint16x8_t apart = vmlaq_n_u16(odd, vsubq_u16(lanes, odd), (uint16_t)step);
    const uint16x8_t places = vaddq_n_u16(apart, (uint16_t)(2 * at));
    const uint16x8_t last = vdupq_n_u16((uint16_t)(x_size - 1));
    const mve_pred16_t there = vcmpcsq_u16(last, places);
    const int16x8_t pairs = vldrhq_gather_shifted_offset_z_s16(x, places, there);
    if (radix == TINYRT_COMPLEX_LANES) {
        vstrhq_s16(y, pairs);
        return;
    }
    vstrhq_p_s16(y, pairs, vctp16q((uint32_t)(2 * radix)));
    if (radix > TINYRT_COMPLEX_LANES) {
        at += TINYRT_COMPLEX_LANES * step;
        y[8] = ((2 * at) < x_size) ? x[2 * at] : 0;
        y[9] = (((2 * at) + 1) < x_size) ? x[(2 * at) + 1] : 0;
    }
}

/** Lanes of imaginary parts. As a constant, GCC 12 makes another one of it. */
static inline mve_pred16_t tinyrt_imaginary_lanes(void) {
    return vcmpltq_n_s16(vreinterpretq_s16_u32(vdupq_n_u32(0xFFFF0000U)), 0);
}

/** The spectrum of a signal from that of its pairs of samples: see tinyrt_rfft_words. */
TINYRT_NOINLINE static void tinyrt_rfft_vectors(int32_t count, const int16_t *split, int16_t *y) {
    /* The same numbers from the last to the first: parts 6, 7, 4, 5, 2, 3, 0, 1. */
    const uint16x8_t backwards = veorq_u16(vidupq_n_u16(0, 1), vdupq_n_u16(6));
    const mve_pred16_t imaginary = tinyrt_imaginary_lanes();
    int32_t k = 1;
    for (; 2 * (k + TINYRT_COMPLEX_LANES - 1) <= count; k += TINYRT_COMPLEX_LANES) {
        int16_t *const here = y + (2 * k);
        int16_t *const other = y + (2 * (count - k - TINYRT_COMPLEX_LANES + 1));
        const int16x8_t z = vldrhq_gather_shifted_offset_s16(other, backwards);
        const int16x8_t conjugate = vnegq_m_s16(z, z, imaginary);
        const int16x8_t near = vqrdmulhq_n_s16(vldrhq_s16(here), INT16_MAX / 2);
        const int16x8_t far = vqrdmulhq_n_s16(conjugate, INT16_MAX / 2);
        const int16x8_t both = vaddq_s16(near, far);
        const int16x8_t t =
            tinyrt_turned_lanes(vsubq_s16(near, far), vldrhq_s16(split + (2 * (k - 1))));
        const int16x8_t less = vhsubq_m_s16(vhsubq_s16(both, t), t, both, imaginary);
        vstrhq_s16(here, vhaddq_s16(both, t));
        vstrhq_scatter_shifted_offset_s16(other, backwards, less);
    }
    tinyrt_rfft_words(k, count, split, y);
}

#endif
