/** zip: any function of two floats, with broadcasting and fused activation. */
#ifndef TINYRT_ZIP_H
#define TINYRT_ZIP_H

#include "tinyrt_broadcast.h"
#include "tinyrt_float.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    tinyrt_broadcast shape;
    float act_min;
    float act_max;
} tinyrt_zip_f32_params;

/** y = clamp(f(a, b)), element by element. y may be an input that does not repeat. */
void tinyrt_zip_f32(const tinyrt_zip_f32_params *p, tinyrt_function2 f, const float *a,
                    const float *b, float *y);

#ifdef __cplusplus
}
#endif

#endif
