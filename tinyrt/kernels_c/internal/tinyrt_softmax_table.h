/** What the softmax kernels with a table of exponentials share. */
#ifndef TINYRT_SOFTMAX_TABLE_H
#define TINYRT_SOFTMAX_TABLE_H

#include "tinyrt_reciprocal.h"

static inline int32_t tinyrt_largest_s8(const int8_t *x, const int8_t *end) {
    int32_t most = INT8_MIN;
    for (; x != end; ++x) {
        most = (*x > most) ? *x : most;
    }
    return most;
}

/** The reciprocal of the sum of exponentials, of which each adds at most 2^19. */
static inline tinyrt_reciprocal tinyrt_reciprocal_of_row(const int32_t *table, int32_t most,
                                                         const int8_t *x, const int8_t *end) {
    uint32_t sum = 0;
    for (; x != end; ++x) {
        sum += ((uint32_t)table[most - *x] + (UINT32_C(1) << (TINYRT_SUM_BITS - 1))) >>
               TINYRT_SUM_BITS;
    }
    return tinyrt_reciprocal_of(sum);
}

#endif
