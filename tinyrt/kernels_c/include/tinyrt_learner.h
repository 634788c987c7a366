/** A last dense layer that goes on learning: softmax regression in fixed point. */
#ifndef TINYRT_LEARNER_H
#define TINYRT_LEARNER_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A step of learning: an error in Q15, times a feature, times multiplier * 2^-shift, held to step;
 *  what it moves stays within drift of where it began, and within most of zero. */
typedef struct {
    int32_t multiplier;
    int32_t shift;
    int32_t step;
    int32_t drift;
    int32_t most;
} tinyrt_learner_rate;

/** Logits are in units of 2^-bits. Weights are those of the first class, then of the next. */
typedef struct {
    int32_t classes;
    int32_t features;
    int32_t zero_point;
    int32_t bits;
    tinyrt_learner_rate weight_rate;
    tinyrt_learner_rate bias_rate;
    const int32_t *weights;
    const int32_t *biases;
    uint32_t identity;
} tinyrt_learner_params;

/** Begins anew. The state is an int32 for each weight, for each bias, and for each class. */
void tinyrt_learner_reset(const tinyrt_learner_params *p, void *state);

/** The share of each class, in Q15, for int8 features. */
void tinyrt_learner_s8(const tinyrt_learner_params *p, const int8_t *features, int32_t *scores,
                       const void *state);

/** Moves weights and biases a step towards a sample's class. */
void tinyrt_learner_learn(const tinyrt_learner_params *p, const int8_t *features, int32_t label,
                          void *state);

/** Writes a header of four words, then all weights and biases, to a place of as many words. */
void tinyrt_learner_save(const tinyrt_learner_params *p, uint32_t number, uint32_t *saved,
                         const void *state);

/** Whether this very layer has saved it, and nothing is damaged. */
int tinyrt_learner_is_saved(const tinyrt_learner_params *p, const uint32_t *saved);

/** Takes what was saved. */
void tinyrt_learner_load(const tinyrt_learner_params *p, const uint32_t *saved, void *state);

#ifdef __cplusplus
}
#endif

#endif
