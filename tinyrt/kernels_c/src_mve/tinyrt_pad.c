#include "tinyrt_pad.h"

#include <string.h>

#include "tinyrt_index.h"
#include "tinyrt_mve_memory.h"

/** Bytes that are copied at once where there are so many. */
#define BLOCK (4 * TINYRT_VECTOR)

/** Copies bytes; returns where they end. */
static inline int8_t *copy(const int8_t *x, int32_t bytes, int8_t *to) {
    const int32_t even = bytes & -BLOCK;
    tinyrt_mve_copy_blocks(to, x, bytes / BLOCK);
    tinyrt_mve_copy(to + even, x + even, bytes - even);
    return to + bytes;
}

void tinyrt_pad(const tinyrt_pad_params *p, const void *x, void *y) {
    const int8_t *from = x;
    int8_t *const first = y;
    int8_t *to = first;
    int32_t index[TINYRT_MAX_RANK] = {0};
    uint32_t word;
    (void)memcpy(&word, p->value, sizeof word);
    const int8x16_t border = vreinterpretq_s8_u32(vdupq_n_u32(word));
    do {
        int8_t *const run = first + p->begin + tinyrt_flat_index(p->rank, p->y_strides, index);
        tinyrt_mve_repeat(to, border, (int32_t)(run - to));
        to = copy(from, p->run, run);
        from += p->run;
    } while (tinyrt_next_index(p->rank, p->dims, index) != 0);
    tinyrt_mve_repeat(to, border, (int32_t)(first + p->y_bytes - to));
}
