/** dequantize: from int8 to float. */
#ifndef TINYRT_DEQUANTIZE_H
#define TINYRT_DEQUANTIZE_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t size;
    float scale;
    int32_t x_zp;
} tinyrt_dequantize_s8_f32_params;

/** y = scale * (x - x_zp). */
void tinyrt_dequantize_s8_f32(const tinyrt_dequantize_s8_f32_params *p, const int8_t *x,
                              float *TINYRT_RESTRICT y);

/** y = scale * x, from int16. */
void tinyrt_dequantize_s16_f32(int32_t size, float scale, const int16_t *x,
                               float *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
