/** quantize: from float to int8. */
#ifndef TINYRT_QUANTIZE_H
#define TINYRT_QUANTIZE_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t size;
    float scale;
    int32_t y_zp;
} tinyrt_quantize_f32_s8_params;

/** y = clamp(round(x / scale) + y_zp), halves away from zero; not a number gives y_zp. */
void tinyrt_quantize_f32_s8(const tinyrt_quantize_f32_s8_params *p, const float *x,
                            int8_t *TINYRT_RESTRICT y);

/** y = clamp(round(x / scale)) in int16, halves away from zero; not a number gives 0. */
void tinyrt_quantize_f32_s16(int32_t size, float scale, const float *x, int16_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
