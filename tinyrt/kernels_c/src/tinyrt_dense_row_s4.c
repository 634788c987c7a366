#include "tinyrt_dense_row.h"

#include "tinyrt_columns_s4.h"
#include "tinyrt_narrow.h"

static TINYRT_NOINLINE void row_of_blocks(const tinyrt_dense_row_s8_params *p, tinyrt_run run,
                                          int32_t x16, const int8_t *x) {
    const tinyrt_narrow narrow = tinyrt_narrow_of(&p->block);
    const int32_t words = p->block.taps >> 1;
    int8_t *y = run.y;
    for (; run.blocks != 0; --run.blocks) {
        int32_t sum[4];
        tinyrt_start_s4(run.init, sum);
        tinyrt_dot_row_s4(run.w, x, p->c_in, sum);
        tinyrt_finish_four_s4(&run, narrow, x16, sum, y);
        run.w += words;
        run.init += 4;
        run.mult += p->block.requant_step;
        run.shift += p->block.requant_step;
        y += 4;
    }
}

void tinyrt_dense_row_s4(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                         tinyrt_taps_word *column, int8_t *y) {
    const tinyrt_block_s8_params *const block = &p->block;
    const int32_t whole = block->c_out >> 2;
    const tinyrt_run run = {block->w, block->init, block->mult, block->shift, y, 0, whole};
    int32_t x16 = 0;
    (void)column;
    for (int32_t i = 0; i < p->c_in; ++i) {
        x16 += 16 * x[i];
    }
    row_of_blocks(p, run, x16, x);
    if (block->c_out & 3) {
        int8_t last[4];
        row_of_blocks(p, tinyrt_last_block(block, block->taps >> 1, last), x16, x);
        for (int32_t i = 4 * whole; i < block->c_out; ++i) {
            TINYRT_SHORT_LOOP;
            y[i] = last[i & 3];
        }
    }
}
