#include "tinyrt_batch_norm.h"

#include <math.h>

void tinyrt_batch_norm_f32(const tinyrt_batch_norm_f32_params *p, const float *x,
                           const float *gamma, const float *beta, const float *mean,
                           const float *variance, float *y) {
    for (int32_t c = 0; c < p->c; ++c) {
        const float factor = gamma[c] / sqrtf(variance[c] + p->epsilon);
        for (int32_t at = c; at < (p->rows * p->c); at += p->c) {
            y[at] = ((x[at] - mean[c]) * factor) + beta[c];
        }
    }
}
