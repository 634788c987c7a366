/** fold: reductions of floats by any function of two. */
#ifndef TINYRT_FOLD_H
#define TINYRT_FOLD_H

#include "tinyrt_float.h"
#include "tinyrt_reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/** divisor: the number of elements per output for a mean, else 1. */
typedef struct {
    tinyrt_reduction axes;
    float start;
    float divisor;
} tinyrt_fold_f32_params;

/** y = f(f(f(start, x0), x1), ...) / divisor, in pairs of blocks; start is the function's identity.
    y overlaps nothing. */
void tinyrt_fold_f32(const tinyrt_fold_f32_params *p, tinyrt_function2 f, const float *x,
                     float *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
