#include "tinyrt_log_mel.h"

#include "tinyrt_samples.h"

/** Shifts samples left until the largest fills 15 bits; returns by how many. The size of -32768,
 *  which an int16 does not hold, does not count. */
static int32_t scale(int32_t size, int16_t *x) {
    int32_t most = 0;
    for (int32_t i = 0; i < size; ++i) {
        const int32_t loud = x[i] < 0 ? -x[i] : x[i];
        most |= loud & INT16_MAX;
    }
    int32_t shift = 0;
    while (shift < 15 && most >> (14 - shift) == 0) {
        ++shift;
    }
    for (int32_t i = 0; i < size; ++i) {
        x[i] = (int16_t)(uint16_t)((uint32_t)x[i] << shift);
    }
    return shift;
}

/** Bands without noise and of even loudness: two more rows of bands lie behind them. Returns the
 *  row of the answer. */
static const uint32_t *clean(const tinyrt_log_mel_params *p, uint32_t *bands, uint32_t *estimate) {
    const int32_t size = p->bank.channels;
    if (p->noise.size == 0) {
        return bands;
    }
    uint32_t *const cleaned = bands + size;
    uint32_t *const noise = cleaned + size;
    tinyrt_signal_filter_bank_spectral_subtraction(&p->noise, bands, estimate, estimate, cleaned,
                                                   noise);
    if (p->gains == NULL) {
        return cleaned;
    }
    tinyrt_signal_pcan(size, p->snr_shift, cleaned, noise, p->gains, bands);
    return bands;
}

/** One frame: each step reads what the one before has written to the other half of work. */
static void frame(const tinyrt_log_mel_params *p, const int16_t *samples, uint32_t *estimate,
                  void *work, uint16_t *features) {
    const int32_t size = p->bank.channels;
    void *const other = (int8_t *)work + p->second;
    tinyrt_signal_window(&p->window, samples, p->weights, work);
    const int32_t shift = scale(p->window.size, work);
    tinyrt_signal_rfft_s16(&p->fft, work, p->roots, p->split, other);
    tinyrt_signal_energy(&p->energy, other, work);
    tinyrt_signal_filter_bank(&p->bank, work, p->up, p->down, other);
    tinyrt_signal_filter_bank_square_root(size, other, &shift, work);
    const uint32_t *const bands = clean(p, work, estimate);
    if (p->log_scale != 0) {
        tinyrt_signal_filter_bank_log(size, p->log_bits, p->log_scale, bands, (int16_t *)features);
        return;
    }
    for (int32_t i = 0; i < size; ++i) {
        features[i] = (uint16_t)(bands[i] < UINT16_MAX ? bands[i] : UINT16_MAX);
    }
}

void tinyrt_log_mel_reset(const tinyrt_log_mel_params *p, void *state) {
    uint32_t *const words = state;
    for (int32_t i = 0; i <= p->bank.channels; ++i) {
        words[i] = 0;
    }
}

int32_t tinyrt_log_mel(const tinyrt_log_mel_params *p, const int16_t *samples, int32_t count,
                       void *state, void *work, uint16_t *features, int32_t *is_full) {
    int32_t *const held = state;
    uint32_t *const estimate = (uint32_t *)state + 1;
    int16_t *const window = (int16_t *)(void *)(estimate + p->bank.channels);
    const int32_t missing = p->window.size - *held;
    const int32_t taken = count < missing ? count : missing;
    tinyrt_samples_copy(samples, taken, window + *held);
    *held += taken;
    *is_full = *held == p->window.size;
    if (*is_full) {
        frame(p, window, estimate, work, features);
        *held -= p->step;
        tinyrt_samples_copy(window + p->step, *held, window);
    }
    return taken;
}
