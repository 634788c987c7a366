/** Positions of the table of tinyrt_sigmoid_s16_params by any multiplier. */
#ifndef TINYRT_SIGMOID_FAR_H
#define TINYRT_SIGMOID_FAR_H

#include "tinyrt_sigmoid_s16.h"

/** More than the table has. */
#define TINYRT_FAR (INT32_C(1) << 20)

/** An input's position, limited to a little more than the table has. */
static inline int32_t tinyrt_sigmoid_position(const tinyrt_sigmoid_s16_params *p, int32_t x) {
    const int64_t rounding = (INT64_C(1) << p->right) >> 1;
    const int64_t position = (((int64_t)x * p->mult) + rounding) >> p->right;
    if (position > TINYRT_FAR) {
        return TINYRT_FAR;
    }
    return (position < -TINYRT_FAR) ? -TINYRT_FAR : (int32_t)position;
}

#endif
