#include "tinyrt_signal_noise.h"

#include "tinyrt_mve_wide.h"

/** Numbers of channels of even and of odd number, in turn. */
static inline uint32x4_t in_turn(const int32_t numbers[2]) {
    const uint32x4_t place = vandq_u32(vidupq_n_u32(0, 1), vdupq_n_u32(1));
    return vreinterpretq_u32_s32(vldrwq_gather_shifted_offset_s32(numbers, place));
}

void tinyrt_signal_filter_bank_spectral_subtraction(const tinyrt_signal_subtraction_params *p,
                                                    const uint32_t *x, const uint32_t *before,
                                                    uint32_t *after, uint32_t *y, uint32_t *noise) {
    const uint32x4_t smoothing = in_turn(p->smoothing);
    const uint32x4_t one_minus_smoothing = in_turn(p->one_minus_smoothing);
    const uint32x4_t least = vdupq_n_u32((uint32_t)p->least);
    for (int32_t i = 0; i < p->size; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(p->size - i));
        const uint32x4_t signal = vldrwq_z_u32(x + i, lanes);
        const uint32x4_t scaled = vshlq_r_u32(signal, p->smoothing_bits);
        const tinyrt_wide new_part = tinyrt_wide_product(scaled, smoothing);
        const tinyrt_wide old_part =
            tinyrt_wide_product(vldrwq_z_u32(before + i, lanes), one_minus_smoothing);
        const uint32x4_t estimate =
            tinyrt_wide_shifted(tinyrt_wide_sum(new_part, old_part), p->bits);
        const uint32x4_t limited = vminq_u32(estimate, scaled);
        const uint32x4_t rest = vshlq_r_u32(vsubq_u32(scaled, limited), -p->smoothing_bits);
        const uint32x4_t floor = tinyrt_wide_shifted(tinyrt_wide_product(signal, least), p->bits);
        const uint32x4_t kept = p->clamping ? limited : estimate;
        vstrwq_p_u32(y + i, vmaxq_u32(rest, floor), lanes);
        vstrwq_p_u32(noise + i, kept, lanes);
        vstrwq_p_u32(after + i, kept, lanes);
    }
}
