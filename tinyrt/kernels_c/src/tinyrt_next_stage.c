#include "tinyrt_rows.h"

#include "tinyrt_copy.h"

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
                tinyrt_copy(first + ring->row, last, first);
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
