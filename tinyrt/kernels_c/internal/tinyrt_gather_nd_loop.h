/** Parts of a tensor, where this is included: TINYRT_NEAREST says what a number stands for. */
#ifndef TINYRT_GATHER_ND_LOOP_H
#define TINYRT_GATHER_ND_LOOP_H

#include "tinyrt_copy.h"
#include "tinyrt_gather_nd.h"
#include "tinyrt_nearest.h"

/** y[i] = x[the places of places[i]]. */
static inline void tinyrt_pick_parts(const tinyrt_gather_nd_params *p,
                                     const void *TINYRT_RESTRICT x,
                                     const int32_t *TINYRT_RESTRICT places,
                                     void *TINYRT_RESTRICT y) {
    const int32_t depth = p->depth;
    const int32_t run = p->run;
    int8_t *to = y;
    for (int32_t i = p->n; i > 0; --i) {
        const int8_t *from = x;
        for (int32_t axis = 0; axis < depth; ++axis) {
            from += TINYRT_NEAREST(*places, p->sizes[axis]) * p->steps[axis];
            ++places;
        }
        to = tinyrt_copy(from, to + run, to);
    }
}

#endif
