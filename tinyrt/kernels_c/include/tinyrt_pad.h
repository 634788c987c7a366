/** pad: a border of one value, around elements of any type. */
#ifndef TINYRT_PAD_H
#define TINYRT_PAD_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The input as runs of bytes that are neighbours in the output, too: how many along each axis, how
 *  far each axis goes on in y, and where the first run begins in y, in bytes. value is the border's
 *  element, as often as it fits into four bytes.
 *  Requires: 1 <= rank <= TINYRT_MAX_RANK. */
typedef struct {
    int32_t rank;
    int32_t dims[TINYRT_MAX_RANK];
    int32_t y_strides[TINYRT_MAX_RANK];
    int32_t run;
    int32_t begin;
    int32_t y_bytes;
    uint8_t value[4];
} tinyrt_pad_params;

/** y = value, with x inside. y comes from the front: it may overlap x if it writes nothing before
 *  it is read. */
void tinyrt_pad(const tinyrt_pad_params *p, const void *x, void *y);

#ifdef __cplusplus
}
#endif

#endif
