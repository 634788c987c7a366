/** map: any function of one float. */
#ifndef TINYRT_MAP_H
#define TINYRT_MAP_H

#include "tinyrt_float.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = f(x), element by element. y may be x. */
void tinyrt_map_f32(tinyrt_function f, int32_t size, const float *x, float *y);

#ifdef __cplusplus
}
#endif

#endif
