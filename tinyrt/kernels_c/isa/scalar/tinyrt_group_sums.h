/** Sums over the features of a group. */
#ifndef TINYRT_GROUP_SUMS_H
#define TINYRT_GROUP_SUMS_H

#include "tinyrt_group.h"

static inline uint64_t tinyrt_group_sum(const tinyrt_group *g) {
    uint64_t sum = 0;
    for (int32_t i = 0; i < (g->count * g->step); i += g->step) {
        sum += (uint32_t)(g->x[i] ^ g->flip);
    }
    return sum;
}

/** Of squares of 16 times a feature, less the mean. */
static inline uint64_t tinyrt_group_squares(const tinyrt_group *g, int32_t mean) {
    uint64_t squares = 0;
    for (int32_t i = 0; i < (g->count * g->step); i += g->step) {
        const int64_t far = ((int32_t)(g->x[i] ^ g->flip) * 16) - mean;
        squares += (uint64_t)(far * far);
    }
    return squares;
}

#endif
