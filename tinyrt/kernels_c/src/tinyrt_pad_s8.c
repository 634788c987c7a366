#include "tinyrt_pad.h"

#include <string.h>

#include "tinyrt_index.h"

void tinyrt_pad_s8(const tinyrt_pad_s8_params *p, const int8_t *x, int8_t *TINYRT_RESTRICT y) {
    const int32_t outer = p->rank - 1;
    const size_t row_bytes = (size_t)p->x_dims[outer];
    int32_t index[TINYRT_MAX_RANK] = {0};
    memset(y, p->value, (size_t)p->y_size);
    do {
        memcpy(y + p->begin + tinyrt_flat_index(outer, p->y_strides, index), x, row_bytes);
        x += row_bytes;
    } while (tinyrt_next_index(outer, p->x_dims, index));
}
