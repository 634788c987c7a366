#include "tinyrt_window_four.h"

#include "tinyrt_block_four_kept_s8.h"
#include "tinyrt_window_four_loop.h"

void tinyrt_window_four_part_raised_s8(const tinyrt_window_block_s8_params *p, int32_t first,
                                       int32_t count, int32_t fills, int32_t c_out, const int8_t *x,
                                       int32_t *triples, int8_t *patch, int8_t *y) {
    if (fills != 0) {
        tinyrt_window_four_fill(p, first, count, x, triples, patch);
        tinyrt_keep_begin(&p->block, triples);
    }
    tinyrt_window_four_part(p, tinyrt_block_four_kept_s8, first, count, 0, c_out, x, triples, patch,
                            y);
}
