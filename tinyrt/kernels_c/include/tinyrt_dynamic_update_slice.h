/** dynamic_update_slice: a tensor of elements of any type, with a part of it replaced. */
#ifndef TINYRT_DYNAMIC_UPDATE_SLICE_H
#define TINYRT_DYNAMIC_UPDATE_SLICE_H

#include "tinyrt_move.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of the tensor; the part as a walk over its places there; the furthest place where it can
 *  begin along each axis, and the axis's step in bytes. */
typedef struct {
    int32_t bytes;
    tinyrt_move_params part;
    int32_t rank;
    int32_t most[TINYRT_MAX_RANK];
    int32_t steps[TINYRT_MAX_RANK];
} tinyrt_dynamic_update_slice_params;

/** y = x with the part at begin; where it would reach outside, at the nearest place inside. */
void tinyrt_dynamic_update_slice(const tinyrt_dynamic_update_slice_params *p,
                                 const void *TINYRT_RESTRICT x, const void *TINYRT_RESTRICT part,
                                 const int32_t *TINYRT_RESTRICT begin, void *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
