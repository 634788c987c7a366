#include "tinyrt_rows.h"

#include "tinyrt_copy.h"

/** Copies bytes to lower places [to, end), four words at a time. */
static void move_down(const int8_t *from, const int8_t *end, int8_t *to) {
#if TINYRT_COPY_BYTES == 4
    for (; end - to >= 16; to += 16, from += 16) {
        int32_t words[4];
        memcpy(words, from, 16);
        memcpy(to, words, 16);
    }
#endif
    tinyrt_copy(from, end, to);
}

int32_t tinyrt_next_stage(const uint8_t *steps, const tinyrt_ring *rings, int8_t *arena,
                          tinyrt_progress *progress) {
    for (;;) {
        const uint8_t *const chunk = steps + progress->chunk;
        const int32_t count = chunk[0];
        if (progress->step != count) {
            const uint32_t step = chunk[2 + progress->step++];
            const uint32_t stage = step & TINYRT_STAGE;
            const tinyrt_ring *const ring = rings + stage;
            int8_t *const first = arena + ring->offset;
            int8_t *const last = first + ring->keep;
            if ((step & TINYRT_SHIFT) != 0) {
                move_down(first + ring->row, last, first);
            }
            if ((step & TINYRT_FILL) != 0) {
                tinyrt_fill(ring->fill, last + ring->row, last);
            }
            if ((step & TINYRT_RUN) != 0) {
                return (int32_t)stage;
            }
        } else {
            if (count == 0) {
                return -1;
            }
            progress->step = 0;
            if (++progress->round == chunk[1]) {
                progress->round = 0;
                progress->chunk = (uint16_t)(progress->chunk + count + 2);
            }
        }
    }
}
