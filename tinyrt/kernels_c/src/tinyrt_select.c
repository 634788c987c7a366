#include "tinyrt_select.h"

#include "tinyrt_copy.h"
#include "tinyrt_index.h"

void tinyrt_select(const tinyrt_select_params *p, const uint8_t *condition, const void *a,
                   const void *b, void *TINYRT_RESTRICT y) {
    const int32_t rank = p->rank;
    int8_t *to = y;
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int32_t first = condition[tinyrt_flat_index(rank, p->condition_strides, index)];
        const int8_t *from = first ? a : b;
        from += tinyrt_flat_index(rank, first ? p->a_strides : p->b_strides, index);
        to = tinyrt_copy(from, to + p->bytes, to);
    } while (tinyrt_next_index(rank, p->dims, index) != 0);
}
