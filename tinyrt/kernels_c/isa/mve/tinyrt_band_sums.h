/** Energies of frequencies, and sums of what a band's frequencies give to it and to the next one.
 */
#ifndef TINYRT_BAND_SUMS_H
#define TINYRT_BAND_SUMS_H

#include "tinyrt_mve.h"

static inline uint32x4_t tinyrt_energies_of(int16x8_t z) {
    return vreinterpretq_u32_s32(vaddq_s32(vmullbq_int_s16(z, z), vmulltq_int_s16(z, z)));
}

/** y = real**2 + imaginary**2 of count pairs. */
static inline void tinyrt_energies(int32_t count, const int16_t *x, uint32_t *y) {
    const int32_t whole = count & ~3;
    for (int32_t i = 0; i < whole; i += 4) {
        vstrwq_u32(y + i, tinyrt_energies_of(vldrhq_s16(x + (2 * i))));
    }
    const mve_pred16_t lanes = vctp32q((uint32_t)(count - whole));
    vstrwq_p_u32(y + whole, tinyrt_energies_of(vldrhq_z_s16(x + (2 * whole), lanes)), lanes);
}

/** Sums of count products of x with up, and with down, neither of them negative. */
static inline void tinyrt_band_sums(int32_t count, const uint32_t *x, const int16_t *up,
                                    const int16_t *down, uint64_t *ups, uint64_t *downs) {
    const uint16_t *const u = (const uint16_t *)up;
    const uint16_t *const d = (const uint16_t *)down;
    uint64_t sum = 0;
    uint64_t other = 0;
    for (int32_t i = 0; i < count; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(count - i));
        const uint32x4_t energies = vldrwq_z_u32(x + i, lanes);
        sum = vmlaldavaq_u32(sum, energies, vldrhq_z_u32(u + i, lanes));
        other = vmlaldavaq_u32(other, energies, vldrhq_z_u32(d + i, lanes));
    }
    *ups = sum;
    *downs = other;
}

#endif
