/** div: element-wise quotients, with broadcasting. */
#ifndef TINYRT_DIV_H
#define TINYRT_DIV_H

#include "tinyrt_broadcast.h"

#ifdef __cplusplus
extern "C" {
#endif

/** inverse[b + 128] is the reciprocal of |b - b_zp| in Q0.31, exponent[b + 128] by how many bits
 *  its products are to be shifted right. */
typedef struct {
    tinyrt_broadcast shape;
    const int32_t *inverse;
    const int8_t *exponent;
    int32_t a_zp;
    int32_t b_zp;
    int32_t y_mult;
    int32_t y_zp;
    int32_t act_min;
    int32_t act_max;
} tinyrt_div_s8_params;

/** y = clamp(requant((a - a_zp) / (b - b_zp)) + y_zp); where the divisor is 0, the least or
 *  greatest int8 by the dividend's sign. y may be a or b. */
void tinyrt_div_s8(const tinyrt_div_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
