#include "tinyrt_arg.h"

void tinyrt_arg_f32_s32(const tinyrt_arg_params *p, const float *x, int32_t *TINYRT_RESTRICT y) {
    for (int32_t outer = 0; outer < p->outer; ++outer) {
        for (int32_t inner = 0; inner < p->inner; ++inner) {
            *y++ = tinyrt_place_f32(p, x + inner);
        }
        x += p->depth * p->inner;
    }
}
