/** rsqrt: one by the square root. */
#ifndef TINYRT_RSQRT_H
#define TINYRT_RSQRT_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = the root of x, brought to the scale of y by mult and shift; INT16_MAX for x <= 0. y may be
 * x. */
void tinyrt_rsqrt_s16(int32_t size, int32_t mult, int32_t shift, const int16_t *x, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
