/** transpose: a permutation of axes. */
#ifndef TINYRT_TRANSPOSE_H
#define TINYRT_TRANSPOSE_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The output's dims, and the strides of x in the order of the output's axes, in elements.
 *  Requires: 1 <= rank <= TINYRT_MAX_RANK. */
typedef struct {
    int32_t rank;
    int32_t y_dims[TINYRT_MAX_RANK];
    int32_t x_strides[TINYRT_MAX_RANK];
} tinyrt_transpose_s8_params;

/** y[i0, i1, ...] = x[sum(i * x_strides)]. y overlaps nothing. */
void tinyrt_transpose_s8(const tinyrt_transpose_s8_params *p, const int8_t *x,
                         int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
