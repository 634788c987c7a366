/** reshape: the same bytes under another shape. */
#ifndef TINYRT_RESHAPE_H
#define TINYRT_RESHAPE_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = x, byte by byte; for a reshape between a model input and a model output, which cannot share
 *  memory. y overlaps nothing. */
void tinyrt_reshape(int32_t bytes, const void *x, void *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
