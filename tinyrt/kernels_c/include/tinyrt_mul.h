/** mul: rescaled product, with broadcasting. */
#ifndef TINYRT_MUL_H
#define TINYRT_MUL_H

#include "tinyrt_broadcast.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    tinyrt_broadcast shape;
    int32_t a_zp;
    int32_t b_zp;
    int32_t y_zp;
    int32_t y_mult;
    int32_t y_shift;
    int32_t act_min;
    int32_t act_max;
} tinyrt_mul_s8_params;

/** y = clamp(requant((a - a_zp) * (b - b_zp)) + y_zp). y may be an input that does not repeat. */
void tinyrt_mul_s8(const tinyrt_mul_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y);

/** As tinyrt_mul_s8, for int16. */
void tinyrt_mul_s16(const tinyrt_mul_s8_params *p, const int16_t *a, const int16_t *b, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
