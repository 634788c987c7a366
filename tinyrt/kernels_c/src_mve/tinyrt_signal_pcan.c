#include "tinyrt_signal_noise.h"

#include "tinyrt_mve_wide.h"

/** Fraction bits of a ratio of signal to noise, and of an output. */
#define SNR_BITS 12
#define OUTPUT_BITS 6

/** A polynomial of second degree for each power of two; the first entries are for 0 to 2. */
static inline uint32x4_t gains_of(uint32x4_t noise, const int16_t *gains) {
    const int32x4_t bits = vsubq_s32(vdupq_n_s32(32), vreinterpretq_s32_u32(vclzq_u32(noise)));
    const mve_pred16_t is_small = vcmpcsq_u32(vdupq_n_u32(2), noise);
    const int32x4_t place = vsubq_n_s32(vshlq_n_s32(bits, 2), 6);
    const uint32x4_t at = vpselq_u32(noise, vreinterpretq_u32_s32(place), is_small);
    const int32x4_t first = vldrhq_gather_shifted_offset_s32(gains, at);
    const int32x4_t second = vldrhq_gather_shifted_offset_s32(gains + 1, at);
    const int32x4_t third = vldrhq_gather_shifted_offset_s32(gains + 2, at);
    const uint32x4_t shifted = vshlq_u32(noise, vsubq_s32(vdupq_n_s32(11), bits));
    const int32x4_t fraction = vreinterpretq_s32_u32(vandq_u32(shifted, vdupq_n_u32(0x3FF)));
    const int32x4_t slope =
        vaddq_s32(vshrq_n_s32(vmulq_s32(third, fraction), 5), vshlq_n_s32(second, 5));
    const int32x4_t curve = vaddq_s32(vrshrq_n_s32(vmulq_s32(slope, fraction), 15), first);
    /* As an int16 holds it. */
    const int32x4_t gain = vshrq_n_s32(vshlq_n_s32(curve, 16), 16);
    return vreinterpretq_u32_s32(vpselq_s32(first, gain, is_small));
}

void tinyrt_signal_pcan(int32_t size, int32_t shift, const uint32_t *TINYRT_RESTRICT x,
                        const uint32_t *noise, const int16_t *gains, uint32_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < size; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(size - i));
        const uint32x4_t gain = gains_of(vldrwq_z_u32(noise + i, lanes), gains);
        const tinyrt_wide product = tinyrt_wide_product(vldrwq_z_u32(x + i, lanes), gain);
        const uint32x4_t ratio = tinyrt_wide_shifted(product, shift);
        const uint32x4_t squared =
            vshrq_n_u32(vmulq_u32(ratio, ratio), 2 + (2 * SNR_BITS) - OUTPUT_BITS);
        const uint32x4_t linear =
            vsubq_n_u32(vshrq_n_u32(ratio, SNR_BITS - OUTPUT_BITS), 1 << OUTPUT_BITS);
        const mve_pred16_t is_large = vcmpcsq_n_u32(ratio, 2 << SNR_BITS);
        vstrwq_p_u32(y + i, vpselq_u32(linear, squared, is_large), lanes);
    }
}
