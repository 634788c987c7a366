#include "tinyrt_learner.h"

#include "tinyrt_crc32.h"

/** Words in front of what is saved: magic, identity, number, CRC-32. */
#define HEADER 4
#define MAGIC UINT32_C(0x6E726C74)

/** log2(e) in Q14, and how far below the greatest logit a class has no share: e^-16. */
#define LOG2E 23637
#define FAR 16

/** Two to the power of -i / 64 in Q15. */
static const uint16_t powers[65] = {
    32768, 32415, 32066, 31720, 31379, 31041, 30706, 30376, 30048, 29725, 29405, 29088, 28774,
    28464, 28158, 27855, 27554, 27258, 26964, 26674, 26386, 26102, 25821, 25543, 25268, 24995,
    24726, 24460, 24196, 23936, 23678, 23423, 23170, 22921, 22674, 22430, 22188, 21949, 21713,
    21479, 21247, 21019, 20792, 20568, 20347, 20127, 19911, 19696, 19484, 19274, 19066, 18861,
    18658, 18457, 18258, 18061, 17867, 17674, 17484, 17296, 17109, 16925, 16743, 16562, 16384,
};

static int32_t words_of(const tinyrt_learner_params *p) {
    return p->classes * (p->features + 1);
}

void tinyrt_learner_reset(const tinyrt_learner_params *p, void *state) {
    int32_t *const weights = state;
    const int32_t count = p->classes * p->features;
    for (int32_t i = 0; i < count; ++i) {
        weights[i] = p->weights[i];
    }
    for (int32_t k = 0; k < p->classes; ++k) {
        weights[count + k] = p->biases[k];
    }
}

static int64_t logit(const tinyrt_learner_params *p, const int8_t *features, const int32_t *weights,
                     int32_t k) {
    const int32_t *const row = weights + (k * p->features);
    int64_t sum = weights[(p->classes * p->features) + k];
    for (int32_t j = 0; j < p->features; ++j) {
        sum += (int64_t)row[j] * (features[j] - p->zero_point);
    }
    return sum;
}

/** Two to the power of a number from -24 to 0, whose magnitude is in Q12, in Q15. */
static int32_t power_of(int32_t magnitude) {
    const uint16_t *const at = powers + ((magnitude >> 6) & 63);
    const int32_t between = ((at[0] - at[1]) * (magnitude & 63)) + 32;
    return (at[0] - (between >> 6)) >> (magnitude >> 12);
}

void tinyrt_learner_s8(const tinyrt_learner_params *p, const int8_t *features, int32_t *scores,
                       const void *state) {
    const int32_t *const weights = state;
    int64_t most = logit(p, features, weights, 0);
    for (int32_t k = 1; k < p->classes; ++k) {
        const int64_t other = logit(p, features, weights, k);
        most = (other > most) ? other : most;
    }
    const int64_t far = (int64_t)FAR << p->bits;
    int32_t sum = 0;
    for (int32_t k = 0; k < p->classes; ++k) {
        const int64_t difference = most - logit(p, features, weights, k);
        const int64_t below = (difference < far) ? difference : far;
        scores[k] = power_of((int32_t)((below * LOG2E) >> (p->bits + 2)));
        sum += scores[k];
    }
    for (int32_t k = 0; k < p->classes; ++k) {
        scores[k] = (scores[k] << 15) / sum;
    }
}

static int32_t held(int32_t value, int32_t low, int32_t high) {
    const int32_t above = (value > low) ? value : low;
    return (above < high) ? above : high;
}

/** A weight or a bias after a step: factor is an error times the rate's multiplier. All but the
 *  product is below 2^31: first, drift and most are below 2^30. */
static int32_t moved(const tinyrt_learner_rate *rate, int32_t factor, int32_t x, int32_t now,
                     int32_t first) {
    const int64_t half = ((int64_t)1 << rate->shift) >> 1;
    const int64_t scaled = (((int64_t)factor * x) + half) >> rate->shift;
    const int64_t least = -rate->step;
    const int32_t step =
        (scaled < least) ? -rate->step : (int32_t)((scaled < rate->step) ? scaled : rate->step);
    const int32_t low = held(first - rate->drift, -rate->most, rate->most);
    const int32_t high = held(first + rate->drift, -rate->most, rate->most);
    return held(now - step, low, high);
}

void tinyrt_learner_learn(const tinyrt_learner_params *p, const int8_t *features, int32_t label,
                          void *state) {
    int32_t *const weights = state;
    int32_t *const biases = weights + (p->classes * p->features);
    int32_t *const errors = biases + p->classes;
    tinyrt_learner_s8(p, features, errors, state);
    errors[label] -= 1 << 15;
    for (int32_t k = 0; k < p->classes; ++k) {
        const int32_t first = k * p->features;
        const int32_t factor = errors[k] * p->weight_rate.multiplier;
        for (int32_t j = first; j < (first + p->features); ++j) {
            const int32_t x = features[j - first] - p->zero_point;
            weights[j] = moved(&p->weight_rate, factor, x, weights[j], p->weights[j]);
        }
        const int32_t of_bias = errors[k] * p->bias_rate.multiplier;
        biases[k] = moved(&p->bias_rate, of_bias, 1, biases[k], p->biases[k]);
    }
}

/** Of all but itself. */
static uint32_t checksum(const tinyrt_learner_params *p, const uint32_t *saved) {
    const uint32_t head = tinyrt_crc32(0, saved, (HEADER - 1) * 4);
    return tinyrt_crc32(head, saved + HEADER, (uint32_t)words_of(p) * 4U);
}

void tinyrt_learner_save(const tinyrt_learner_params *p, uint32_t number, uint32_t *saved,
                         const void *state) {
    const int32_t *const weights = state;
    saved[0] = MAGIC;
    saved[1] = p->identity;
    saved[2] = number;
    for (int32_t i = 0; i < words_of(p); ++i) {
        saved[HEADER + i] = (uint32_t)weights[i];
    }
    saved[3] = checksum(p, saved);
}

int tinyrt_learner_is_saved(const tinyrt_learner_params *p, const uint32_t *saved) {
    return (saved[0] == MAGIC) && (saved[1] == p->identity) && (saved[3] == checksum(p, saved));
}

void tinyrt_learner_load(const tinyrt_learner_params *p, const uint32_t *saved, void *state) {
    int32_t *const weights = state;
    for (int32_t i = 0; i < words_of(p); ++i) {
        weights[i] = (int32_t)saved[HEADER + i];
    }
}
