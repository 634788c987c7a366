/** A mean without division. */
#ifndef TINYRT_MEAN_OF_H
#define TINYRT_MEAN_OF_H

#include "tinyrt_types.h"

/** sum * reciprocal / 2^24, halves towards +infinity. Requires: that is an int8. */
static inline int32_t tinyrt_mean_of(int32_t sum, int32_t reciprocal) {
    const uint32_t raised = ((uint32_t)sum * (uint32_t)reciprocal) + (UINT32_C(1) << 23);
    return (int32_t)raised >> 24;
}

#endif
