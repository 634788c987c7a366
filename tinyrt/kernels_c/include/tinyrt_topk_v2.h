/** topk_v2: places of the largest elements of each row, the largest one first. */
#ifndef TINYRT_TOPK_V2_H
#define TINYRT_TOPK_V2_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rows of depth elements, of which the places of k are sought; 1 <= k <= depth. */
typedef struct {
    int32_t rows;
    int32_t depth;
    int32_t k;
} tinyrt_topk_v2_params;

/** y = the places, k for each row. Of equal elements the first one comes first; what is no number
 *  comes last. */
void tinyrt_topk_v2_f32(const tinyrt_topk_v2_params *p, const float *x, int32_t *y);
void tinyrt_topk_v2_s8(const tinyrt_topk_v2_params *p, const int8_t *x, int32_t *y);
void tinyrt_topk_v2_s16(const tinyrt_topk_v2_params *p, const int16_t *x, int32_t *y);
void tinyrt_topk_v2_s32(const tinyrt_topk_v2_params *p, const int32_t *x, int32_t *y);

#ifdef __cplusplus
}
#endif

#endif
