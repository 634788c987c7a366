/** pad: a border of one value. */
#ifndef TINYRT_PAD_H
#define TINYRT_PAD_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requires: 1 <= rank <= TINYRT_MAX_RANK. begin is where the first element of x lies in y, in
 *  elements. */
typedef struct {
    int32_t rank;
    int32_t x_dims[TINYRT_MAX_RANK];
    int32_t y_strides[TINYRT_MAX_RANK];
    int32_t begin;
    int32_t y_size;
    int8_t value;
} tinyrt_pad_s8_params;

/** y = value, with x inside. y overlaps nothing. */
void tinyrt_pad_s8(const tinyrt_pad_s8_params *p, const int8_t *x, int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
