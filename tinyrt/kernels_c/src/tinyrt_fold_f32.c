#include "tinyrt_fold.h"

static float folded(const tinyrt_fold_f32_params *p, tinyrt_function2 f, const float *x) {
    const tinyrt_reduction *axes = &p->axes;
    int32_t index[TINYRT_MAX_RANK] = {0};
    float so_far = p->start;
    do {
        so_far = f(so_far, x[tinyrt_flat_index(axes->reduced_rank, axes->reduced_strides, index)]);
    } while (tinyrt_next_index(axes->reduced_rank, axes->reduced_dims, index));
    return so_far;
}

void tinyrt_fold_f32(const tinyrt_fold_f32_params *p, tinyrt_function2 f, const float *x,
                     float *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t at = 0;
    do {
        *y++ = folded(p, f, x + at) / p->divisor;
    } while (tinyrt_next_kept(&p->axes, index, &at));
}
