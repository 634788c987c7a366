#include "tinyrt_signal_filter_bank.h"

#include "tinyrt_log_table.h"
#include "tinyrt_mve.h"

/** log2 of numbers above 0, as 65536ths. */
static inline uint32x4_t log2_of(uint32x4_t x) {
    const int32x4_t whole = vsubq_s32(vdupq_n_s32(31), vreinterpretq_s32_u32(vclzq_u32(x)));
    /* Without the highest bit. */
    const uint32x4_t above = veorq_u32(x, vshlq_u32(vdupq_n_u32(1), whole));
    const uint32x4_t fraction = vshlq_u32(above, vsubq_s32(vdupq_n_s32(16), whole));
    const uint32x4_t segment = vshrq_n_u32(fraction, 9);
    const int32x4_t low =
        vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(TINYRT_LOG_TABLE, segment));
    const int32x4_t high =
        vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(TINYRT_LOG_TABLE + 1, segment));
    const int32x4_t part = vreinterpretq_s32_u32(vandq_u32(fraction, vdupq_n_u32(0x1FF)));
    const int32x4_t between = vshrq_n_s32(vmulq_s32(vsubq_s32(high, low), part), 16);
    const int32x4_t shifted = vaddq_s32(vshlq_n_s32(whole, 16), vreinterpretq_s32_u32(fraction));
    return vreinterpretq_u32_s32(vaddq_s32(vaddq_s32(shifted, low), between));
}

void tinyrt_signal_filter_bank_log(int32_t size, int32_t bits, int32_t scale,
                                   const uint32_t *TINYRT_RESTRICT x, int16_t *TINYRT_RESTRICT y) {
    const uint32x4_t ln2 = vdupq_n_u32((uint32_t)TINYRT_LN2 << 8);
    for (int32_t i = 0; i < size; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(size - i));
        const uint32x4_t shifted = vshlq_r_u32(vldrwq_z_u32(x + i, lanes), bits);
        const mve_pred16_t is_above = vcmphiq_n_u32(shifted, 1);
        const uint32x4_t log2 = log2_of(vmaxq_u32(shifted, vdupq_n_u32(1)));
        /* (log2 * ln2 + 2^15) / 2^16. */
        const uint32x4_t natural = vrmulhq_u32(vshlq_n_u32(log2, 8), ln2);
        const uint32x4_t scaled = vmulq_n_u32(natural, (uint32_t)scale);
        const uint32x4_t log = vshrq_n_u32(vaddq_n_u32(scaled, 1 << 15), 16);
        const uint32x4_t limited = vminq_u32(log, vdupq_n_u32(INT16_MAX));
        const uint32x4_t answer = vpselq_u32(limited, vdupq_n_u32(0), is_above);
        vstrhq_p_s32(y + i, vreinterpretq_s32_u32(answer), lanes);
    }
}
