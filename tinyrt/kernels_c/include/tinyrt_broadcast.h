/** The shapes of an element-wise op with two inputs. */
#ifndef TINYRT_BROADCAST_H
#define TINYRT_BROADCAST_H

#include "tinyrt_types.h"

/** The output's dims and each input's strides, in elements: 0 where the input repeats.
 *  Requires: 1 <= rank <= TINYRT_MAX_RANK. */
typedef struct {
    int32_t rank;
    int32_t dims[TINYRT_MAX_RANK];
    int32_t a_strides[TINYRT_MAX_RANK];
    int32_t b_strides[TINYRT_MAX_RANK];
} tinyrt_broadcast;

#endif
