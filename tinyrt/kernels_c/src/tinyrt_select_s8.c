#include "tinyrt_select.h"

#include "tinyrt_index.h"

void tinyrt_select_s8(const tinyrt_select_params *p, const uint8_t *condition, const int8_t *a,
                      const int8_t *b, int8_t *y) {
    const int32_t outer = p->rank - 1;
    const int32_t step = p->condition_strides[outer];
    const int32_t a_step = p->a_strides[outer];
    const int32_t b_step = p->b_strides[outer];
    const int32_t length = p->dims[outer];
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const uint8_t *chosen = condition + tinyrt_flat_index(outer, p->condition_strides, index);
        const int8_t *a_row = a + tinyrt_flat_index(outer, p->a_strides, index);
        const int8_t *b_row = b + tinyrt_flat_index(outer, p->b_strides, index);
        for (int32_t i = 0; i < length; ++i) {
            const int8_t first = a_row[i * a_step];
            const int8_t second = b_row[i * b_step];
            *y++ = chosen[i * step] ? first : second;
        }
    } while (tinyrt_next_index(outer, p->dims, index) != 0);
}
