#include "tinyrt_dense_row.h"

#include "tinyrt_columns_s4.h"
#include "tinyrt_narrow.h"

static TINYRT_NOINLINE void row_of_blocks(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                                          int last, int8_t *y) {
    const tinyrt_narrow narrow = tinyrt_narrow_of(&p->block);
    const int32_t words = p->block.taps >> 1;
    tinyrt_run run = tinyrt_run_of(&p->block, words, last, y);
    int32_t x16 = 0;
    for (int32_t i = 0; i < p->c_in; ++i) {
        x16 += 16 * x[i];
    }
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
    const int32_t c_out = p->block.c_out;
    (void)column;
    row_of_blocks(p, x, 0, y);
    if ((c_out & 3) != 0) {
        int8_t last[4];
        row_of_blocks(p, x, 1, last);
        for (int32_t i = c_out & ~3; i < c_out; ++i) {
            TINYRT_SHORT_LOOP;
            y[i] = last[i & 3];
        }
    }
}
