#include "tinyrt_nearest_mean.h"

/** Means are in units of 2^-8: of 32,768 samples, their sums just fit into 32 bits. */
#define FRACTION 8
#define LOWEST 128

static uint32_t square_of_distance(uint32_t x, uint32_t mean) {
    const uint32_t apart = (x > mean) ? x - mean : mean - x;
    return apart * apart;
}

void tinyrt_nearest_mean_s8(const tinyrt_learner_params *p, const int8_t *features, int32_t *scores,
                            const void *state) {
    const uint32_t *sums = state;
    const uint32_t *const counts = sums + (p->classes * p->features);
    for (int32_t k = 0; k < p->classes; ++k) {
        const uint32_t count = counts[k];
        uint64_t distance = 0;
        for (int32_t j = 0; (count != 0U) && (j < p->features); ++j) {
            const uint32_t x = (uint32_t)(features[j] + LOWEST) << FRACTION;
            const uint32_t mean = ((sums[j] << FRACTION) + (count >> 1)) / count;
            distance += square_of_distance(x, mean);
        }
        scores[k] = (count != 0U) ? -(int32_t)(distance >> 13) : INT32_MIN;
        sums += p->features;
    }
}

void tinyrt_nearest_mean_learn(const tinyrt_learner_params *p, uint32_t memory,
                               const int8_t *features, int32_t label, void *state) {
    uint32_t *const sums = (uint32_t *)state + (label * p->features);
    uint32_t *const count = (uint32_t *)state + (p->classes * p->features) + label;
    const uint32_t is_full = (*count == memory) ? 1U : 0U;
    for (int32_t j = 0; j < p->features; ++j) {
        sums[j] = ((sums[j] + is_full) >> is_full) + (uint32_t)(features[j] + LOWEST);
    }
    *count = (*count >> is_full) + 1U;
}
