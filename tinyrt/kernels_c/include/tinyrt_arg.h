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

/** The same among integers: turn is 0 for the greatest, and -1, whose bits turn the order around,
 *  for the least. */
static inline int32_t tinyrt_place_s8(const tinyrt_arg_params *p, int32_t turn, const int8_t *x) {
    int32_t best = *x ^ turn;
    int32_t place = 0;
    for (int32_t i = 1; i < p->depth; ++i) {
        x += p->inner;
        const int32_t value = *x ^ turn;
        if (value > best) {
            best = value;
            place = i;
        }
    }
    return place;
}

static inline int32_t tinyrt_place_s16(const tinyrt_arg_params *p, int32_t turn, const int16_t *x) {
    int32_t best = *x ^ turn;
    int32_t place = 0;
    for (int32_t i = 1; i < p->depth; ++i) {
        x += p->inner;
        const int32_t value = *x ^ turn;
        if (value > best) {
            best = value;
            place = i;
        }
    }
    return place;
}

/** y = the places as int32. y overlaps nothing. */
void tinyrt_arg_f32_s32(const tinyrt_arg_params *p, const float *x, int32_t *TINYRT_RESTRICT y);

/** y = the places as int64. y overlaps nothing. */
void tinyrt_arg_f32_s64(const tinyrt_arg_params *p, const float *x, int64_t *TINYRT_RESTRICT y);

/** y = the places as int32. y may lie on what is read no more: place by place, in y's order, all
 *  elements that it is chosen from are read before it is written. */
void tinyrt_arg_s8_s32(const tinyrt_arg_params *p, const int8_t *x, int32_t *y);

/** The same as int64. */
void tinyrt_arg_s8_s64(const tinyrt_arg_params *p, const int8_t *x, int64_t *y);

/** The same among int16. */
void tinyrt_arg_s16_s32(const tinyrt_arg_params *p, const int16_t *x, int32_t *y);

/** The same among int16, as int64. */
void tinyrt_arg_s16_s64(const tinyrt_arg_params *p, const int16_t *x, int64_t *y);

#ifdef __cplusplus
}
#endif

#endif
