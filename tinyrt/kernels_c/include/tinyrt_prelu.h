/** prelu: slopes of the negative side that are tensors, with broadcasting. */
#ifndef TINYRT_PRELU_H
#define TINYRT_PRELU_H

#include "tinyrt_broadcast.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    tinyrt_broadcast shape;
    int32_t x_zp;
    int32_t alpha_zp;
    int32_t pos_mult;
    int32_t pos_shift;
    int32_t neg_mult;
    int32_t neg_shift;
    int32_t y_zp;
} tinyrt_prelu_s8_params;

/** y = clamp(requant(x - x_zp) + y_zp), times alpha - alpha_zp where x < x_zp. y may be x. */
void tinyrt_prelu_s8(const tinyrt_prelu_s8_params *p, const int8_t *x, const int8_t *alpha,
                     int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
