#include "tinyrt_svdf.h"

#include "tinyrt_float.h"

static float products(const float *a, const float *b, int32_t length) {
    float sum = 0.0F;
    for (int32_t i = 0; i < length; ++i) {
        sum = tinyrt_mlaf(sum, a[i], b[i]);
    }
    return sum;
}

void tinyrt_svdf_f32(const tinyrt_svdf_f32_params *p, const float *x, const float *w,
                     const float *time, const float *bias, const float *before, float *after,
                     float *y) {
    for (int32_t n = 0; n < p->batches; ++n) {
        for (int32_t f = 0, unit = 0; unit < p->units; ++unit) {
            float sum = (bias != NULL) ? bias[unit] : 0.0F;
            for (int32_t r = 0; r < p->rank; ++r, ++f) {
                for (int32_t i = 0; (i + 1) < p->memory; ++i) {
                    after[i] = before[i + 1];
                }
                after[p->memory - 1] = products(x, w + (f * p->c_in), p->c_in);
                sum += products(after, time + (f * p->memory), p->memory);
                before += p->memory;
                after += p->memory;
            }
            *y++ = tinyrt_clampf(sum, p->act_min, p->act_max);
        }
        x += p->c_in;
    }
}
