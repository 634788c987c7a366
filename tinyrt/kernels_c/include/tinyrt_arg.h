/** arg: where along an axis the extremum lies, the first one if several. */
#ifndef TINYRT_ARG_H
#define TINYRT_ARG_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The input as (outer, depth, inner); places are along depth. */
typedef struct {
    int32_t outer;
    int32_t depth;
    int32_t inner;
} tinyrt_arg_params;

/** y = the places of the largest, of the smallest elements. y may lie on what is read no more:
 * place by place, in y's order, all elements that it is chosen from are read before it is written.
 */
void tinyrt_arg_max_f32_s32(const tinyrt_arg_params *p, const float *x, int32_t *y);
void tinyrt_arg_max_f32_s64(const tinyrt_arg_params *p, const float *x, int64_t *y);
void tinyrt_arg_max_s8_s32(const tinyrt_arg_params *p, const int8_t *x, int32_t *y);
void tinyrt_arg_max_s8_s64(const tinyrt_arg_params *p, const int8_t *x, int64_t *y);
void tinyrt_arg_max_s16_s32(const tinyrt_arg_params *p, const int16_t *x, int32_t *y);
void tinyrt_arg_max_s16_s64(const tinyrt_arg_params *p, const int16_t *x, int64_t *y);
void tinyrt_arg_min_f32_s32(const tinyrt_arg_params *p, const float *x, int32_t *y);
void tinyrt_arg_min_f32_s64(const tinyrt_arg_params *p, const float *x, int64_t *y);
void tinyrt_arg_min_s8_s32(const tinyrt_arg_params *p, const int8_t *x, int32_t *y);
void tinyrt_arg_min_s8_s64(const tinyrt_arg_params *p, const int8_t *x, int64_t *y);
void tinyrt_arg_min_s16_s32(const tinyrt_arg_params *p, const int16_t *x, int32_t *y);
void tinyrt_arg_min_s16_s64(const tinyrt_arg_params *p, const int16_t *x, int64_t *y);

#ifdef __cplusplus
}
#endif

#endif
