#include "tinyrt_fold.h"

/* Blocks are folded in pairs, then pairs of pairs, so that long sums lose few bits. */
#define BLOCK 64
#define MOST_LEVELS 26

static float folded(const tinyrt_fold_f32_params *p, tinyrt_function2 f, const float *x) {
    const tinyrt_reduction *axes = &p->axes;
    int32_t index[TINYRT_MAX_RANK] = {0};
    float levels[MOST_LEVELS];
    uint32_t blocks = 0;
    int more = 1;
    while (more != 0) {
        float so_far = p->start;
        for (int32_t i = 0; (more != 0) && (i < BLOCK); ++i) {
            so_far =
                f(so_far, x[tinyrt_flat_index(axes->reduced_rank, axes->reduced_strides, index)]);
            more = tinyrt_next_index(axes->reduced_rank, axes->reduced_dims, index);
        }
        int32_t level = 0;
        for (uint32_t full = blocks++; full & 1u; full >>= 1) {
            so_far = f(levels[level++], so_far);
        }
        levels[level] = so_far;
    }
    float result = p->start;
    for (int32_t level = 0; blocks >> level; ++level) {
        if (((blocks >> level) & 1u) != 0) {
            result = f(levels[level], result);
        }
    }
    return result;
}

void tinyrt_fold_f32(const tinyrt_fold_f32_params *p, tinyrt_function2 f, const float *x,
                     float *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t at = 0;
    do {
        *y++ = folded(p, f, x + at) / p->divisor;
    } while (tinyrt_next_kept(&p->axes, index, &at) != 0);
}
