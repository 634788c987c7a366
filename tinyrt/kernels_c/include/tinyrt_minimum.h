/** minimum: the smaller of two values of one scale, with broadcasting. */
#ifndef TINYRT_MINIMUM_H
#define TINYRT_MINIMUM_H

#include "tinyrt_broadcast.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = min(a, b), raw values. y may be an input that does not repeat. */
void tinyrt_minimum_s8(const tinyrt_broadcast *shape, const int8_t *a, const int8_t *b, int8_t *y);

/** As tinyrt_minimum_s8, for int16. */
void tinyrt_minimum_s16(const tinyrt_broadcast *shape, const int16_t *a, const int16_t *b,
                        int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
