/** A log-mel front end: samples in pieces of any size, features of each frame that is full. */
#ifndef TINYRT_LOG_MEL_H
#define TINYRT_LOG_MEL_H

#include "tinyrt_signal_fft.h"
#include "tinyrt_signal_filter_bank.h"
#include "tinyrt_signal_noise.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Frames of window samples, each step samples later, become features of bank.channels bands
 *  of the frequencies from start to before end. Weights are in [0, 4096]. Of memory for work, what
 * is behind second bytes is used by every other step. Without gains there is no PCAN, and where
 * noise.size is 0 no noise reduction either. A log_scale of 0 leaves bands without logarithm. */
typedef struct {
    int32_t window;
    int32_t step;
    const int16_t *weights;
    tinyrt_signal_fft_params fft;
    const int16_t *roots;
    const int16_t *split;
    int32_t start;
    int32_t end;
    tinyrt_signal_filter_bank_params bank;
    const int16_t *up;
    const int16_t *down;
    tinyrt_signal_subtraction_params noise;
    const int16_t *gains;
    int32_t snr_shift;
    int32_t log_bits;
    int32_t log_scale;
    int32_t second;
} tinyrt_log_mel_params;

/** Forgets all samples and all noise. The state is an int32 for the number of samples held, one for
 *  each band's noise, and the samples. */
void tinyrt_log_mel_reset(const tinyrt_log_mel_params *p, void *state);

/** Takes as many of count samples as fill a frame, at most; says in is_full whether that made a row
 *  of features. Returns how many it took. */
int32_t tinyrt_log_mel(const tinyrt_log_mel_params *p, const int16_t *samples, int32_t count,
                       void *state, void *work, uint16_t *features, int32_t *is_full);

#ifdef __cplusplus
}
#endif

#endif
