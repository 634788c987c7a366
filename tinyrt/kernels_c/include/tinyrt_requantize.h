/** requantize: from one scale and zero point to another. */
#ifndef TINYRT_REQUANTIZE_H
#define TINYRT_REQUANTIZE_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t size;
    int32_t x_zp;
    int32_t y_zp;
    int32_t y_mult;
    int32_t y_shift;
} tinyrt_requantize_s8_params;

/** y = clamp(requant(x - x_zp) + y_zp). y may be x. */
void tinyrt_requantize_s8(const tinyrt_requantize_s8_params *p, const int8_t *x, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
