#include "tinyrt_logical.h"

void tinyrt_logical(const tinyrt_logical_params *p, const uint8_t *a, const uint8_t *b,
                    uint8_t *y) {
    const int32_t outer = p->rank - 1;
    const int32_t a_step = p->a_strides[outer];
    const int32_t b_step = p->b_strides[outer];
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const uint8_t *a_row = a + tinyrt_flat_index(outer, p->a_strides, index);
        const uint8_t *b_row = b + tinyrt_flat_index(outer, p->b_strides, index);
        for (int32_t i = 0; i < p->dims[outer]; ++i) {
            *y++ = (uint8_t)((p->table >> ((2 * a_row[i * a_step]) + b_row[i * b_step])) & 1);
        }
    } while (tinyrt_next_index(outer, p->dims, index) != 0);
}
