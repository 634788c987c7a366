#include "tinyrt_signal_noise.h"

void tinyrt_signal_filter_bank_spectral_subtraction(const tinyrt_signal_subtraction_params *p,
                                                    const uint32_t *x, const uint32_t *before,
                                                    uint32_t *after, uint32_t *y, uint32_t *noise) {
    for (int32_t i = 0; i < p->size; ++i) {
        const uint32_t scaled = x[i] << p->smoothing_bits;
        const uint64_t new_part = (uint64_t)scaled * (uint32_t)p->smoothing[i & 1];
        const uint64_t old_part = (uint64_t)before[i] * (uint32_t)p->one_minus_smoothing[i & 1];
        const uint32_t estimate = (uint32_t)((new_part + old_part) >> p->bits);
        const uint32_t limited = (estimate < scaled) ? estimate : scaled;
        const uint32_t least = (uint32_t)(((uint64_t)x[i] * (uint32_t)p->least) >> p->bits);
        const uint32_t rest = (scaled - limited) >> p->smoothing_bits;
        y[i] = (rest > least) ? rest : least;
        noise[i] = p->clamping ? limited : estimate;
        after[i] = noise[i];
    }
}
