/** gather_nd: parts of a tensor of elements of any type. */
#ifndef TINYRT_GATHER_ND_H
#define TINYRT_GATHER_ND_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** n places of depth numbers each, in dimensions of these sizes, whose steps and the run that is
 *  copied are in bytes. */
typedef struct {
    int32_t n;
    int32_t depth;
    int32_t sizes[TINYRT_MAX_RANK];
    int32_t steps[TINYRT_MAX_RANK];
    int32_t run;
} tinyrt_gather_nd_params;

/** y[i] = x[places[i]]; a number outside its dimension is the nearest one inside. */
void tinyrt_gather_nd(const tinyrt_gather_nd_params *p, const void *TINYRT_RESTRICT x,
                      const int32_t *TINYRT_RESTRICT places, void *TINYRT_RESTRICT y);

/** The same, where a number below 0 counts from its dimension's end. */
void tinyrt_gather_nd_from_end(const tinyrt_gather_nd_params *p, const void *TINYRT_RESTRICT x,
                               const int32_t *TINYRT_RESTRICT places, void *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
