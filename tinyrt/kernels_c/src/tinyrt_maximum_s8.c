#include "tinyrt_maximum.h"

#include "tinyrt_index.h"

void tinyrt_maximum_s8(const tinyrt_broadcast *shape, const int8_t *a, const int8_t *b, int8_t *y) {
    const int32_t outer = shape->rank - 1;
    const int32_t a_step = shape->a_strides[outer];
    const int32_t b_step = shape->b_strides[outer];
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int8_t *a_row = a + tinyrt_flat_index(outer, shape->a_strides, index);
        const int8_t *b_row = b + tinyrt_flat_index(outer, shape->b_strides, index);
        for (int32_t i = 0; i < shape->dims[outer]; ++i) {
            const int8_t a_value = a_row[i * a_step];
            const int8_t b_value = b_row[i * b_step];
            *y++ = a_value > b_value ? a_value : b_value;
        }
    } while (tinyrt_next_index(outer, shape->dims, index));
}
