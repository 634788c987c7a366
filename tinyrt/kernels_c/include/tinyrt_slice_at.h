/** slice_at: a part of a tensor of elements of any type, from where numbers say. */
#ifndef TINYRT_SLICE_AT_H
#define TINYRT_SLICE_AT_H

#include "tinyrt_move.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The part as a walk, the furthest place where it can begin along each axis of the input, and the
 *  axis's step in bytes. */
typedef struct {
    tinyrt_move_params part;
    int32_t rank;
    int32_t most[TINYRT_MAX_RANK];
    int32_t steps[TINYRT_MAX_RANK];
} tinyrt_slice_at_params;

/** y = the part of x that begins there; where it would reach outside, the nearest one inside. */
void tinyrt_slice_at(const tinyrt_slice_at_params *p, const void *TINYRT_RESTRICT x,
                     const int32_t *TINYRT_RESTRICT begin, void *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
