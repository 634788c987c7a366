#include "tinyrt_zip_s32.h"

void tinyrt_zip_s32(const tinyrt_broadcast *shape, tinyrt_function2_s32 f, const int32_t *a,
                    const int32_t *b, int32_t *y) {
    const int32_t outer = shape->rank - 1;
    const int32_t a_step = shape->a_strides[outer];
    const int32_t b_step = shape->b_strides[outer];
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int32_t *a_row = a + tinyrt_flat_index(outer, shape->a_strides, index);
        const int32_t *b_row = b + tinyrt_flat_index(outer, shape->b_strides, index);
        for (int32_t i = 0; i < shape->dims[outer]; ++i) {
            *y++ = f(*a_row, *b_row);
            a_row += a_step;
            b_row += b_step;
        }
    } while (tinyrt_next_index(outer, shape->dims, index) != 0);
}
