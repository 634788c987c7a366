#include "tinyrt_zip.h"

void tinyrt_zip_f32(const tinyrt_zip_f32_params *p, tinyrt_function2 f, const float *a,
                    const float *b, float *y) {
    const tinyrt_broadcast *shape = &p->shape;
    const int32_t outer = shape->rank - 1;
    const int32_t a_step = shape->a_strides[outer];
    const int32_t b_step = shape->b_strides[outer];
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const float *a_row = a + tinyrt_flat_index(outer, shape->a_strides, index);
        const float *b_row = b + tinyrt_flat_index(outer, shape->b_strides, index);
        for (int32_t i = 0; i < shape->dims[outer]; ++i) {
            *y++ = tinyrt_clampf(f(*a_row, *b_row), p->act_min, p->act_max);
            a_row += a_step;
            b_row += b_step;
        }
    } while (tinyrt_next_index(outer, shape->dims, index) != 0);
}
