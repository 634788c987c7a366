#include "tinyrt_pad.h"

#include <string.h>

#include "tinyrt_copy.h"
#include "tinyrt_index.h"

/** Sets [to, end) to the border's element; returns end. */
static int8_t *border(const tinyrt_pad_params *p, const int8_t *end, int8_t *to) {
    const int8_t *const blocks = to + ((end - to) & ~15);
    uint32_t word;
    (void)memcpy(&word, p->value, 4);
    while ((TINYRT_COPY_BYTES > 1) && (to != blocks)) {
        (void)memcpy(to, &word, 4);
        (void)memcpy(to + 4, &word, 4);
        (void)memcpy(to + 8, &word, 4);
        (void)memcpy(to + 12, &word, 4);
        to += 16;
    }
    for (; (end - to) >= 4; to += 4) {
        (void)memcpy(to, p->value, 4);
    }
    for (const uint8_t *value = p->value; to != end; ++to) {
        (void)memcpy(to, value++, 1);
    }
    return to;
}

void tinyrt_pad(const tinyrt_pad_params *p, const void *x, void *y) {
    const int8_t *from = x;
    int8_t *const first = y;
    const int32_t blocks = p->run & ~15;
    int8_t *to = first;
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        to = border(p, first + p->begin + tinyrt_flat_index(p->rank, p->y_strides, index), to);
        tinyrt_copy_blocks(from, to + blocks, to);
        to = tinyrt_copy(from + blocks, to + p->run, to + blocks);
        from += p->run;
    } while (tinyrt_next_index(p->rank, p->dims, index) != 0);
    (void)border(p, first + p->y_bytes, to);
}
