#include "tinyrt_block_long_s8.h"

#include "tinyrt_block_runs.h"

/** Taps whose sums stay below 2^23, whatever the weights: 496 * 2^14. */
#define MOST_TAPS 496

/** Adds the sums of four channels, of which two share one: without the even one's, what is left of
 *  the odd one's is a multiple of 256. */
static inline void add_apart(const int32_t *acc, int32_t *sum) {
    for (int32_t i = 0; i < 4; i += 2) {
        sum[i] += acc[i];
        sum[i + 1] += (int32_t)((uint32_t)acc[i + 1] - (uint32_t)acc[i]) >> 8;
    }
}

static inline int32_t taps_from(const tinyrt_block_s8_params *p, int32_t done) {
    return ((p->taps - done) < MOST_TAPS) ? (p->taps - done) : MOST_TAPS;
}

static void finish(const tinyrt_run *run, const int32_t *sum, int32_t zp, int8_t *y) {
    for (int32_t i = 0; i < 4; ++i) {
        y[i] = tinyrt_requant_any(sum[i], run->mult[i], run->shift[i], zp);
    }
}

static inline void next_block(const tinyrt_block_s8_params *p, tinyrt_run *run) {
    run->init += 4;
    run->mult += p->requant_step;
    run->shift += p->requant_step;
    run->y += 4;
}

static TINYRT_NOINLINE void one_column(const tinyrt_block_s8_params *p, const tinyrt_single *column,
                                       int last, int8_t *y) {
    tinyrt_run run = tinyrt_run_of(p, p->taps, last, y);
    for (; run.blocks != 0; --run.blocks) {
        int32_t sum[4] = {run.init[0], run.init[1], run.init[2], run.init[3]};
        for (int32_t done = 0; done < p->taps; done += MOST_TAPS) {
            int32_t acc[4] = {0};
            run.w = tinyrt_dot_one(run.w, column + done, taps_from(p, done), acc);
            add_apart(acc, sum);
        }
        finish(&run, sum, (2 * p->y_zp) + 1, run.y);
        next_block(p, &run);
    }
}

static TINYRT_NOINLINE void two_columns(const tinyrt_block_s8_params *p,
                                        const tinyrt_taps_word *columns, int last, int8_t *y) {
    tinyrt_run run = tinyrt_run_of(p, p->taps, last, y);
    for (; run.blocks != 0; --run.blocks) {
        const int32_t *const init = run.init;
        int32_t sum[8] = {init[0], init[1], init[2], init[3], init[0], init[1], init[2], init[3]};
        for (int32_t done = 0; done < p->taps; done += MOST_TAPS) {
            int32_t acc[8] = {0};
            run.w = tinyrt_dot_two(run.w, columns + ((2 * done) / TINYRT_TAPS_PER_WORD),
                                   taps_from(p, done), acc);
            add_apart(acc, sum);
            add_apart(acc + 4, sum + 4);
        }
        finish(&run, sum, (2 * p->y_zp) + 1, run.y);
        finish(&run, sum + 4, (2 * p->y_zp) + 1, run.y + run.y_step);
        next_block(p, &run);
    }
}

void tinyrt_block_long_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y) {
    tinyrt_all_blocks(p, one_column, column, y);
}

void tinyrt_two_blocks_long_s8(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                               int8_t *y) {
    tinyrt_all_two_blocks(p, two_columns, columns, y);
}
