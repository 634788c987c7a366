#include "tinyrt_transpose.h"

#include "tinyrt_index.h"

void tinyrt_transpose_s8(const tinyrt_transpose_s8_params *p, const int8_t *x,
                         int8_t *TINYRT_RESTRICT y) {
    const int32_t outer = p->rank - 1;
    const int32_t step = p->x_strides[outer];
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int8_t *row = x + tinyrt_flat_index(outer, p->x_strides, index);
        for (int32_t i = 0; i < p->y_dims[outer]; ++i) {
            *y++ = row[i * step];
        }
    } while (tinyrt_next_index(outer, p->y_dims, index));
}
