#include "tinyrt_block_sparse_s8.h"

#include "tinyrt_block_runs.h"
#include "tinyrt_sparse_run.h"

/** As tinyrt_dot_one over the runs of a block. A call of its own, for the loops take all registers.
 */
static TINYRT_NOINLINE const int32_t *dot_one(const int32_t *w, const tinyrt_single *column,
                                              int32_t *acc) {
    tinyrt_sparse_run run;
    do {
        run = tinyrt_sparse_run_of(*w);
        w = tinyrt_dot_one(w + 1, column + run.first, run.taps, acc);
    } while (!run.last);
    return w;
}

/** As tinyrt_dot_two over the runs of a block. */
static TINYRT_NOINLINE const int32_t *dot_two(const int32_t *w, const tinyrt_taps_word *columns,
                                              int32_t taps, int32_t *acc) {
    tinyrt_sparse_run run;
    (void)taps;
    do {
        run = tinyrt_sparse_run_of(*w);
        w = tinyrt_dot_two(w + 1, columns + ((run.first * 2) / TINYRT_TAPS_PER_WORD), run.taps,
                           acc);
    } while (!run.last);
    return w;
}

/** Whole blocks, or the last one, which lies behind p->taps words. */
static inline tinyrt_run run_of(const tinyrt_block_s8_params *p, int last, int8_t *y) {
    tinyrt_run run = tinyrt_run_of(p, 0, last, y);
    run.w += last ? p->taps : 0;
    return run;
}

#define TINYRT_BLOCK_DOT_ONE(w, line, acc) dot_one(w, (line)->x, acc)
#define TINYRT_BLOCK_DOT_TWO dot_two
#define TINYRT_BLOCK_HELD(fields) (void)(fields)
#define TINYRT_RUN_OF run_of
#include "tinyrt_block_loop.h"

void tinyrt_block_sparse_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column,
                            int8_t *y) {
    tinyrt_all_blocks(p, tinyrt_one_column, column, y);
}

void tinyrt_two_blocks_sparse_s8(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                                 int8_t *y) {
    tinyrt_all_two_blocks(p, tinyrt_two_columns, columns, y);
}
