/** Channels with less noise, and of an even loudness. */
#ifndef TINYRT_SIGNAL_NOISE_H
#define TINYRT_SIGNAL_NOISE_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Weights of channels of even and of odd number, as fractions of bits. */
typedef struct {
    int32_t size;
    int32_t smoothing[2];
    int32_t one_minus_smoothing[2];
    int32_t least;
    int32_t smoothing_bits;
    int32_t bits;
    int32_t clamping;
} tinyrt_signal_subtraction_params;

/** y = x without the estimate of its noise; the next estimate goes to after, which may be before,
 *  and to noise. */
void tinyrt_signal_filter_bank_spectral_subtraction(const tinyrt_signal_subtraction_params *p,
                                                    const uint32_t *x, const uint32_t *before,
                                                    uint32_t *after, uint32_t *y, uint32_t *noise);

/** y = x * gain >> shift, small ones squared; the gain is that of the noise. */
void tinyrt_signal_pcan(int32_t size, int32_t shift, const uint32_t *TINYRT_RESTRICT x,
                        const uint32_t *noise, const int16_t *gains, uint32_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
