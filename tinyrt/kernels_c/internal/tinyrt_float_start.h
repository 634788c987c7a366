/** Where sums of floats begin. */
#ifndef TINYRT_FLOAT_START_H
#define TINYRT_FLOAT_START_H

#include "tinyrt_types.h"

/** Fours of sums, which all begin with the same four biases, or with 0 where bias is NULL. */
static inline void tinyrt_quads_start(const float *bias, int32_t quads, float *sum) {
    float b0 = 0.0F, b1 = 0.0F, b2 = 0.0F, b3 = 0.0F;
    if (bias != NULL) {
        b0 = bias[0], b1 = bias[1], b2 = bias[2], b3 = bias[3];
    }
    for (; quads > 0; --quads, sum += 4) {
        sum[0] = b0;
        sum[1] = b1;
        sum[2] = b2;
        sum[3] = b3;
    }
}

#endif
