/** arg: where along an axis the extremum lies, the first one if several. */
#ifndef TINYRT_ARG_H
#define TINYRT_ARG_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The input as (outer, depth, inner); places are along depth. least: the smallest is looked for,
 *  else the largest. */
typedef struct {
    int32_t outer;
    int32_t depth;
    int32_t inner;
    int32_t least;
} tinyrt_arg_params;

/** The place of the extremum among depth elements, of which x is the first. */
static inline int32_t tinyrt_place_f32(const tinyrt_arg_params *p, const float *x) {
    float best = *x;
    int32_t place = 0;
    for (int32_t i = 1; i < p->depth; ++i) {
        x += p->inner;
        if (p->least ? *x < best : *x > best) {
            best = *x;
            place = i;
        }
    }
    return place;
}

/** y = the places as int32. y overlaps nothing. */
void tinyrt_arg_f32_s32(const tinyrt_arg_params *p, const float *x, int32_t *TINYRT_RESTRICT y);

/** y = the places as int64. y overlaps nothing. */
void tinyrt_arg_f32_s64(const tinyrt_arg_params *p, const float *x, int64_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
