#include "tinyrt_log_mel.h"

#include "tinyrt_band_sums.h"
#include "tinyrt_bits.h"
#include "tinyrt_copy.h"
#include "tinyrt_frame.h"
#include "tinyrt_samples.h"

/** Sums of bands: what a band's frequencies give to it, and what those of the band before do. */
static void sums(const tinyrt_log_mel_params *p, const uint32_t *x, uint64_t *y) {
    uint64_t before = 0;
    for (int32_t i = 0; i <= p->bank.channels; ++i) {
        const int32_t at = p->bank.weight_start[i];
        uint64_t own;
        uint64_t next;
        tinyrt_band_sums(p->bank.width[i], x + p->bank.frequency_start[i], p->up + at, p->down + at,
                         &own, &next);
        if (i > 0) {
            y[i - 1] = before + own;
        }
        before = next;
    }
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
    const uint32_t sizes = tinyrt_windowed(p->window, samples, p->weights, work);
    const int32_t shift = 15 - ((sizes != 0) ? tinyrt_bit_length(sizes) : 0);
    tinyrt_shifted_left(p->window, shift, work);
    tinyrt_signal_rfft_s16(&p->fft, work, p->roots, p->split, other);
    /* Energies of frequencies that no band takes are not needed. */
    tinyrt_energies(p->end - p->start, (int16_t *)other + (2 * p->start),
                    (uint32_t *)work + p->start);
    sums(p, work, other);
    tinyrt_signal_filter_bank_square_root(size, other, &shift, work);
    const uint32_t *const bands = clean(p, work, estimate);
    if (p->log_scale != 0) {
        tinyrt_signal_filter_bank_log(size, p->log_bits, p->log_scale, bands, (int16_t *)features);
        return;
    }
    for (int32_t i = 0; i < size; ++i) {
        features[i] = (uint16_t)((bands[i] < UINT16_MAX) ? bands[i] : UINT16_MAX);
    }
}

void tinyrt_log_mel_reset(const tinyrt_log_mel_params *p, void *state) {
    uint32_t *const words = state;
    for (int32_t i = 0; i <= p->bank.channels; ++i) {
        words[i] = 0;
    }
}

/** Samples that lie at least a vector apart, or behind. */
static void copy(const int16_t *from, int32_t count, int16_t *to) {
    (void)tinyrt_copy((const int8_t *)from, (const int8_t *)(to + count), (int8_t *)to);
}

int32_t tinyrt_log_mel(const tinyrt_log_mel_params *p, const int16_t *samples, int32_t count,
                       void *state, void *work, uint16_t *features, int32_t *is_full) {
    int32_t *const held = state;
    uint32_t *const estimate = (uint32_t *)state + 1;
    int16_t *const window = (int16_t *)(void *)(estimate + p->bank.channels);
    const int32_t missing = p->window - *held;
    const int32_t taken = (count < missing) ? count : missing;
    copy(samples, taken, window + *held);
    *held += taken;
    *is_full = *held == p->window;
    if (*is_full != 0) {
        frame(p, window, estimate, work, features);
        *held -= p->step;
        if (p->step < 8) {
            tinyrt_samples_copy(window + p->step, *held, window);
        } else {
            copy(window + p->step, *held, window);
        }
    }
    return taken;
}
