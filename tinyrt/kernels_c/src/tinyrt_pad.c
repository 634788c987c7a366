#include "tinyrt_pad.h"

#include <string.h>

#include "tinyrt_index.h"

void tinyrt_pad(const tinyrt_pad_params *p, const void *x, void *TINYRT_RESTRICT y) {
    const int8_t *from = x;
    int8_t *const to = y;
    int32_t at = 0;
    for (; at + 4 <= p->y_bytes; at += 4) {
        memcpy(to + at, p->value, 4);
    }
    memcpy(to + at, p->value, (size_t)(p->y_bytes - at));
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        memcpy(to + p->begin + tinyrt_flat_index(p->rank, p->y_strides, index), from,
               (size_t)p->run);
        from += p->run;
    } while (tinyrt_next_index(p->rank, p->dims, index));
}
