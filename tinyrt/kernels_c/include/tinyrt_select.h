/** select: of two tensors of any type, the element that a truth value names. */
#ifndef TINYRT_SELECT_H
#define TINYRT_SELECT_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The output's dims and each input's strides, in bytes: 0 where the input repeats. bytes is an
 *  element's size. Requires: 1 <= rank <= TINYRT_MAX_RANK. */
typedef struct {
    int32_t rank;
    int32_t dims[TINYRT_MAX_RANK];
    int32_t condition_strides[TINYRT_MAX_RANK];
    int32_t a_strides[TINYRT_MAX_RANK];
    int32_t b_strides[TINYRT_MAX_RANK];
    int32_t bytes;
} tinyrt_select_params;

/** y = condition ? a : b, element by element. y overlaps nothing. */
void tinyrt_select(const tinyrt_select_params *p, const uint8_t *condition, const void *a,
                   const void *b, void *TINYRT_RESTRICT y);

/** The same for elements of one byte. y may be an input that does not repeat. */
void tinyrt_select_s8(const tinyrt_select_params *p, const uint8_t *condition, const int8_t *a,
                      const int8_t *b, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
