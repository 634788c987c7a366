/** maximum: the larger of two values of one scale, with broadcasting. */
#ifndef TINYRT_MAXIMUM_H
#define TINYRT_MAXIMUM_H

#include "tinyrt_broadcast.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = max(a, b), raw values. y may be an input that does not repeat. */
void tinyrt_maximum_s8(const tinyrt_broadcast *shape, const int8_t *a, const int8_t *b, int8_t *y);

/** As tinyrt_maximum_s8, for int16. */
void tinyrt_maximum_s16(const tinyrt_broadcast *shape, const int16_t *a, const int16_t *b,
                        int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
