/** The nearest class mean, which learns by adding up. State and saves are those of tinyrt_learner:
 *  weights are sums of features, from 0 to 255 each, biases are counts of samples. */
#ifndef TINYRT_NEAREST_MEAN_H
#define TINYRT_NEAREST_MEAN_H

#include "tinyrt_learner.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How near each class's mean is: the squared distance to it, in eighths, with a minus; INT32_MIN
 *  for a class without samples. */
void tinyrt_nearest_mean_s8(const tinyrt_learner_params *p, const int8_t *features, int32_t *scores,
                            const void *state);

/** Adds a sample to its class. A class of memory samples, an even number up to 32,768, counts half
 *  from there on. */
void tinyrt_nearest_mean_learn(const tinyrt_learner_params *p, uint32_t memory,
                               const int8_t *features, int32_t label, void *state);

#ifdef __cplusplus
}
#endif

#endif
