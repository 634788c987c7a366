/** move: elements of any type in another order, some of them several times or not at all. */
#ifndef TINYRT_MOVE_H
#define TINYRT_MOVE_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The output as runs of bytes that are neighbours in the input: how many along each axis, the last
 *  one fastest, and how far each axis goes on in x, in bytes.
 *  Requires: 1 <= rank <= TINYRT_MAX_RANK; run >= 1. */
typedef struct {
    int32_t rank;
    int32_t dims[TINYRT_MAX_RANK];
    int32_t x_strides[TINYRT_MAX_RANK];
    int32_t run;
} tinyrt_move_params;

/** Run [i0, i1, ...] of y is the one at byte sum(i * x_strides) of x. y comes from the
 *  front: it may overlap x if it writes nothing before it is read. */
void tinyrt_move(const tinyrt_move_params *p, const void *x, void *y);

#ifdef __cplusplus
}
#endif

#endif
