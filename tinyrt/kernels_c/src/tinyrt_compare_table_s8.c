#include "tinyrt_compare.h"

void tinyrt_compare_table_s8(const tinyrt_compare_params *p, const uint32_t *table, const int8_t *a,
                             const int8_t *b, uint8_t *y) {
    const int32_t outer = p->rank - 1;
    const int32_t a_step = p->a_strides[outer];
    const int32_t b_step = p->b_strides[outer];
    const int32_t length = p->dims[outer];
    const int32_t outside = 1 - p->accepted;
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int8_t *a_row = a + tinyrt_flat_index(outer, p->a_strides, index);
        const int8_t *b_row = b + tinyrt_flat_index(outer, p->b_strides, index);
        for (int32_t i = 0; i < length; ++i) {
            const uint32_t entry = table[(uint8_t)b_row[i * b_step]];
            const uint32_t place = (uint32_t)(a_row[i * a_step] + 128) - (entry & 0xffffU);
            *y++ = (uint8_t)(((place < (entry >> 16)) ? 1 : 0) ^ outside);
        }
    } while (tinyrt_next_index(outer, p->dims, index) != 0);
}
