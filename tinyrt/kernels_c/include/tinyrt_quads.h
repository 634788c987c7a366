/** What kernels share that compute four sums at once with vectors. */
#ifndef TINYRT_QUADS_H
#define TINYRT_QUADS_H

#include "tinyrt_types.h"

/** value * mult * 2^(left + right - 31), rounded twice: left is not below 0, right not above. One
 *  is taken from negative values before they go right: below is 1, or 0 where right is 0. */
typedef struct {
    int32_t mult;
    int32_t left;
    int32_t below;
    int32_t right;
} tinyrt_quads_scale;

#endif
