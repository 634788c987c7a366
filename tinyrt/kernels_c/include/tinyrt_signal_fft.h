/** Fourier transforms of real signals, by the roundings of KISS FFT. */
#ifndef TINYRT_SIGNAL_FFT_H
#define TINYRT_SIGNAL_FFT_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Stages that a transform has at most. */
#define TINYRT_FFT_STAGES 16

/** So many signals, of which x holds x_size samples each; zeros stand behind them. A signal is
 *  transformed as count complex numbers, twice as many samples, by stages of a radix each, the
 *  outermost one first; step is the product of the radices before. */
typedef struct {
    int32_t rows;
    int32_t x_size;
    int32_t count;
    int32_t stages;
    int32_t radix[TINYRT_FFT_STAGES];
    int32_t step[TINYRT_FFT_STAGES];
} tinyrt_signal_fft_params;

/** y = x shifted left by bits, until the largest sample fills 15 bits. */
void tinyrt_signal_fft_auto_scale(int32_t size, const int16_t *x, int16_t *y, int32_t *bits);

/** y = the spectra of x, real and imaginary parts in turn, from frequency 0 to count; w are the
 *  roots of unity of count, split those that take even and odd samples apart. Of integers, those of
 *  the signal divided by its length. */
void tinyrt_signal_rfft_s16(const tinyrt_signal_fft_params *p, const int16_t *TINYRT_RESTRICT x,
                            const int16_t *w, const int16_t *split, int16_t *TINYRT_RESTRICT y);
void tinyrt_signal_rfft_s32(const tinyrt_signal_fft_params *p, const int32_t *TINYRT_RESTRICT x,
                            const int32_t *w, const int32_t *split, int32_t *TINYRT_RESTRICT y);
void tinyrt_signal_rfft_f32(const tinyrt_signal_fft_params *p, const float *TINYRT_RESTRICT x,
                            const float *w, const float *split, float *TINYRT_RESTRICT y);

/** y = the signals of such spectra; integers are divided by the length once more. */
void tinyrt_signal_irfft_s16(const tinyrt_signal_fft_params *p, const int16_t *TINYRT_RESTRICT x,
                             const int16_t *w, const int16_t *split, int16_t *TINYRT_RESTRICT y);
void tinyrt_signal_irfft_s32(const tinyrt_signal_fft_params *p, const int32_t *TINYRT_RESTRICT x,
                             const int32_t *w, const int32_t *split, int32_t *TINYRT_RESTRICT y);
void tinyrt_signal_irfft_f32(const tinyrt_signal_fft_params *p, const float *TINYRT_RESTRICT x,
                             const float *w, const float *split, float *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
