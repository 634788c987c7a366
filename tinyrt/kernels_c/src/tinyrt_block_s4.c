#include "tinyrt_block_s4.h"

#include "tinyrt_columns_s4.h"
#include "tinyrt_narrow.h"

static TINYRT_NOINLINE void one_column(const tinyrt_block_s8_params *p, const tinyrt_single *column,
                                       int last, int8_t *y) {
    tinyrt_run run = tinyrt_run_of(p, p->taps >> 1, last, y);
    const tinyrt_narrow narrow = tinyrt_narrow_of(p);
    const int32_t x16 = 16 * tinyrt_sum_single(column, p->taps);
    for (; run.blocks != 0; --run.blocks) {
        int32_t sum[4];
        tinyrt_start_s4(run.init, sum);
        run.w = tinyrt_dot_one_s4(run.w, column, p->taps, sum);
        tinyrt_finish_four_s4(&run, narrow, x16, sum, y);
        run.init += 4;
        run.mult += p->requant_step;
        run.shift += p->requant_step;
        y += 4;
    }
}

/** One channel of two columns. */
static inline void finish(const tinyrt_run *run, int32_t channel, tinyrt_narrow narrow,
                          int32_t first, int32_t second, int8_t *y) {
    y[channel] = tinyrt_finish_s4(run, channel, narrow, first);
    y[run->y_step + channel] = tinyrt_finish_s4(run, channel, narrow, second);
}

static TINYRT_NOINLINE void two_columns(const tinyrt_block_s8_params *p,
                                        const tinyrt_taps_word *columns, int last, int8_t *y) {
    tinyrt_run run = tinyrt_run_of(p, p->taps >> 1, last, y);
    const tinyrt_narrow narrow = tinyrt_narrow_of(p);
    int32_t x16[2];
    tinyrt_sum_columns(columns, p->taps, x16);
    x16[0] *= 16;
    x16[1] *= 16;
    for (; run.blocks != 0; --run.blocks) {
        int32_t sum[8];
        tinyrt_start_s4(run.init, sum);
        tinyrt_start_s4(run.init, sum + 4);
        run.w = tinyrt_dot_two_s4(run.w, columns, p->taps, sum);
        const int32_t *const other = sum + 4;
        finish(&run, 3, narrow, tinyrt_doubled_3(sum, run.init[3]),
               tinyrt_doubled_3(other, run.init[3]), y);
        finish(&run, 2, narrow, tinyrt_doubled_2(sum, x16[0]), tinyrt_doubled_2(other, x16[1]), y);
        finish(&run, 1, narrow, tinyrt_doubled_1(sum, x16[0]), tinyrt_doubled_1(other, x16[1]), y);
        finish(&run, 0, narrow, tinyrt_doubled_0(sum, x16[0]), tinyrt_doubled_0(other, x16[1]), y);
        run.init += 4;
        run.mult += p->requant_step;
        run.shift += p->requant_step;
        y += 4;
    }
}

void tinyrt_block_s4(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y) {
    tinyrt_all_blocks(p, one_column, column, y);
}

void tinyrt_two_blocks_s4(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                          int8_t *y) {
    tinyrt_all_two_blocks(p, two_columns, columns, y);
}
