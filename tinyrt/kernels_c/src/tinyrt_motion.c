#include "tinyrt_motion.h"

#include "tinyrt_axis.h"
#include "tinyrt_band_sums.h"
#include "tinyrt_bits.h"
#include "tinyrt_samples.h"
#include "tinyrt_signal_filter_bank.h"

/** How far energies are shifted left before their root: 6 bits of its fraction, and one for samples
 *  that are halved. */
#define ROOT_BITS 14

/** What a window of an axis is, but for its spectrum. */
typedef struct {
    int32_t mean;
    int32_t largest; /* difference from the mean */
} tinyrt_motion_level;

static int16_t at_most(int32_t value) {
    return (int16_t)((value < INT16_MAX) ? value : INT16_MAX);
}

/** sqrt(wide) / n, both rounded. */
static int16_t nth_root(int32_t n, uint64_t wide) {
    const int32_t none = 0;
    uint32_t root;
    tinyrt_signal_filter_bank_square_root(1, &wide, &none, &root);
    return at_most((int32_t)((root + ((uint32_t)n / 2U)) / (uint32_t)n));
}

/** Mean, rms, deviation and half of the range of an axis. */
static tinyrt_motion_level statistics(const tinyrt_motion_params *p, const int16_t *x,
                                      int16_t *features) {
    const int32_t n = p->window;
    const tinyrt_axis_sums of = tinyrt_axis_sums_of(x, p->axes, n);
    /* Without a sign, so that the quotient is rounded down. */
    const int32_t mean = (((2 * (of.sum + (n * 32768))) + n) / (2 * n)) - 32768;
    const uint64_t wide = (uint64_t)(uint32_t)n * of.squares;
    features[0] = (int16_t)mean;
    features[1] = nth_root(n, wide);
    features[2] = nth_root(n, wide - (uint64_t)((int64_t)of.sum * of.sum));
    features[3] = at_most((of.high - of.low + 1) >> 1);
    const int32_t above = of.high - mean;
    const int32_t below = mean - of.low;
    const tinyrt_motion_level level = {mean, (above > below) ? above : below};
    return level;
}

/** Whether a frequency is a peak that comes behind the one before: it is lower, or as high and
 *  later. */
static int32_t is_next(const uint32_t *x, int32_t first, int32_t i, int32_t end, int32_t before) {
    const uint32_t left = (i > first) ? x[i - 1] : 0;
    const uint32_t right = (i + 1 < end) ? x[i + 1] : 0;
    if ((x[i] < left) || (x[i] <= right)) {
        return 0;
    }
    return (before == 0) || (x[i] < x[before]) || ((x[i] == x[before]) && (i > before));
}

/** The place of the largest peak behind the one before, 0 for none. */
static int32_t next_peak(const tinyrt_motion_params *p, const uint32_t *x, int32_t before) {
    const int32_t first = p->edges[0];
    const int32_t end = p->edges[p->bands];
    int32_t best = 0;
    for (int32_t i = first; i < end; ++i) {
        if ((is_next(x, first, i, end, before) != 0) && ((best == 0) || (x[i] > x[best]))) {
            best = i;
        }
    }
    return best;
}

/** Sums of bands and energies of peaks, raised; places of peaks. */
static void sums(const tinyrt_motion_params *p, const uint32_t *x, uint64_t *y, int16_t *places) {
    for (int32_t i = 0; i < p->bands; ++i) {
        uint64_t sum = 0;
        for (int32_t k = p->edges[i]; k < p->edges[i + 1]; ++k) {
            sum += x[k];
        }
        y[i] = sum << ROOT_BITS;
    }
    int32_t place = 0;
    for (int32_t i = 0; i < p->peaks; ++i) {
        place = ((i == 0) || (place != 0)) ? next_peak(p, x, place) : 0;
        places[i] = (int16_t)place;
        y[p->bands + i] = (place != 0) ? ((uint64_t)x[place] << ROOT_BITS) : 0U;
    }
}

/** An axis: each step reads what the one before has written to the other half of work. */
static void axis(const tinyrt_motion_params *p, const int16_t *x, void *work, int16_t *features) {
    void *const other = (int8_t *)work + p->second;
    const tinyrt_motion_level level = statistics(p, x, features);
    const int32_t up = 16 - ((level.largest != 0) ? tinyrt_bit_length((uint32_t)level.largest) : 0);
    int16_t *const scaled = work;
    tinyrt_axis_raised(x, p->axes, p->window, level.mean, up, p->weights, scaled);
    tinyrt_signal_rfft_s16(&p->fft, scaled, p->roots, p->split, other);
    const int32_t first = p->edges[0];
    tinyrt_energies(p->edges[p->bands] - first, (int16_t *)other + (2 * first),
                    (uint32_t *)work + first);
    const int32_t count = p->bands + p->peaks;
    sums(p, work, other, features + 4 + count);
    tinyrt_signal_filter_bank_square_root(count, other, &up, work);
    tinyrt_signal_filter_bank_log(count, 0, p->log_scale, work, features + 4);
}

void tinyrt_motion_reset(const tinyrt_motion_params *p, void *state) {
    (void)p;
    *(int32_t *)state = 0;
}

int32_t tinyrt_motion(const tinyrt_motion_params *p, const int16_t *samples, int32_t count,
                      void *state, void *work, int16_t *features, int32_t *is_full) {
    int32_t *const held = state;
    int16_t *const window = (int16_t *)state + 2;
    const int32_t missing = p->window - *held;
    const int32_t taken = (count < missing) ? count : missing;
    tinyrt_samples_copy(samples, taken * p->axes, window + (*held * p->axes));
    *held += taken;
    *is_full = *held == p->window;
    if (*is_full != 0) {
        const int32_t each = 4 + p->bands + (2 * p->peaks);
        for (int32_t i = 0; i < p->axes; ++i) {
            axis(p, window + i, work, features + (i * each));
        }
        *held -= p->step;
        tinyrt_samples_copy(window + (p->step * p->axes), *held * p->axes, window);
    }
    return taken;
}
