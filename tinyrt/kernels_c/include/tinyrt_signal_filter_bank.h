/** Energies of frequencies, summed to channels; their roots and logarithms. */
#ifndef TINYRT_SIGNAL_FILTER_BANK_H
#define TINYRT_SIGNAL_FILTER_BANK_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Frequencies from start to before end, of size. */
typedef struct {
    int32_t size;
    int32_t start;
    int32_t end;
} tinyrt_signal_energy_params;

/** y = real**2 + imaginary**2 of pairs; 0 of other frequencies. */
void tinyrt_signal_energy(const tinyrt_signal_energy_params *p, const int16_t *TINYRT_RESTRICT x,
                          uint32_t *TINYRT_RESTRICT y);

/** There is a band more than channels; each takes width frequencies and weights. */
typedef struct {
    int32_t channels;
    const int16_t *frequency_start;
    const int16_t *weight_start;
    const int16_t *width;
} tinyrt_signal_filter_bank_params;

/** y = sums by weights w of the bands from the second on, and by weights u of the bands before. */
void tinyrt_signal_filter_bank(const tinyrt_signal_filter_bank_params *p,
                               const uint32_t *TINYRT_RESTRICT x, const int16_t *w,
                               const int16_t *u, uint64_t *TINYRT_RESTRICT y);

/** y = round(sqrt(x)) >> bits. */
void tinyrt_signal_filter_bank_square_root(int32_t size, const uint64_t *TINYRT_RESTRICT x,
                                           const int32_t *bits, uint32_t *TINYRT_RESTRICT y);

/** y = scale * ln(x << bits), at most INT16_MAX; 0 of 0 and 1. */
void tinyrt_signal_filter_bank_log(int32_t size, int32_t bits, int32_t scale,
                                   const uint32_t *TINYRT_RESTRICT x, int16_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
