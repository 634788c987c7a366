/** Blocks of four output channels over one or two columns, for weights in any order: a source
 * defines TINYRT_BLOCK_DOT_ONE and TINYRT_BLOCK_DOT_TWO, like tinyrt_dot_words and
 * tinyrt_dot_two, TINYRT_BLOCK_HELD, like TINYRT_HELD_FOR_LINE, and TINYRT_RUN_OF, which sets a run
 * out, and includes this. As arguments, these would cost code. */
#ifndef TINYRT_BLOCK_LOOP_H
#define TINYRT_BLOCK_LOOP_H

#include "tinyrt_block_runs.h"

/** Twice the sum of an odd channel: without the even one's, what is left is a multiple of 256. */
static inline int32_t tinyrt_doubled_odd(int32_t odd, int32_t even) {
    return (int32_t)((uint32_t)odd - (uint32_t)even) >> 7;
}

static inline int32_t tinyrt_doubled_even(int32_t even) {
    return (int32_t)((uint32_t)even << 1);
}

/** Four outputs of doubled sums on one scale. */
static inline void tinyrt_finish_alike(const int32_t *doubled, int32_t mult, int32_t shift,
                                       int32_t zp, int8_t *y) {
    y[0] = tinyrt_requant_alike(doubled[0], mult, shift, zp);
    y[1] = tinyrt_requant_alike(doubled[1], mult, shift, zp);
    y[2] = tinyrt_requant_alike(doubled[2], mult, shift, zp);
    y[3] = tinyrt_requant_alike(doubled[3], mult, shift, zp);
}

static TINYRT_NOINLINE void tinyrt_one_column(const tinyrt_block_s8_params *p,
                                              const tinyrt_single *column, int last, int8_t *y) {
    const int32_t step = p->requant_step;
    tinyrt_run run = TINYRT_RUN_OF(p, last, y);
    tinyrt_tap_line line = tinyrt_tap_line_of(column, p->taps);
    TINYRT_BLOCK_HELD(line);
    TINYRT_BLOCK_HELD(run);
    const int32_t zp = (2 * p->y_zp) + 1;
    const int32_t mult = run.mult[0];
    const int32_t shift = run.shift[0];
    const int8_t *const end = y + (run.blocks * 4);
    while (run.y != end) {
        const int32_t *const init = run.init;
        int32_t acc[4] = {init[0], init[1], init[2], init[3]};
        run.init = init + 4;
        run.w = TINYRT_BLOCK_DOT_ONE(run.w, &line, acc);
        int8_t *const four = run.y;
        run.y = four + 4;
        const int32_t doubled[4] = {tinyrt_doubled_even(acc[0]), tinyrt_doubled_odd(acc[1], acc[0]),
                                    tinyrt_doubled_even(acc[2]),
                                    tinyrt_doubled_odd(acc[3], acc[2])};
        if ((TINYRT_ONE_SCALE != 0) && (step == 0)) {
            tinyrt_finish_alike(doubled, mult, shift, zp, four);
        } else {
            four[0] = tinyrt_requant_doubled(doubled[0], run.mult[0], run.shift[0], zp);
            four[1] = tinyrt_requant_doubled(doubled[1], run.mult[1], run.shift[1], zp);
            four[2] = tinyrt_requant_doubled(doubled[2], run.mult[2], run.shift[2], zp);
            four[3] = tinyrt_requant_doubled(doubled[3], run.mult[3], run.shift[3], zp);
            run.mult += step;
            run.shift += step;
        }
    }
}

/** One channel of two columns. */
static inline void tinyrt_finish_column(const tinyrt_run *run, int32_t channel, int32_t first,
                                        int32_t second, int32_t zp, int8_t *y) {
    const int32_t mult = run->mult[channel];
    const int32_t shift = run->shift[channel];
    y[channel] = tinyrt_requant_alike(first, mult, shift, zp);
    y[run->y_step + channel] = tinyrt_requant_alike(second, mult, shift, zp);
}

static TINYRT_NOINLINE void tinyrt_two_columns(const tinyrt_block_s8_params *p,
                                               const tinyrt_taps_word *columns, int last,
                                               int8_t *y) {
    const int32_t taps = p->taps;
    tinyrt_run run = TINYRT_RUN_OF(p, last, y);
    const int32_t zp = (2 * p->y_zp) + 1;
    for (; run.blocks != 0; --run.blocks) {
        const int32_t *const init = run.init;
        int32_t acc[8] = {init[0], init[1], init[2], init[3], init[0], init[1], init[2], init[3]};
        run.w = TINYRT_BLOCK_DOT_TWO(run.w, columns, taps, acc);
        tinyrt_finish_column(&run, 1, tinyrt_doubled_odd(acc[1], acc[0]),
                             tinyrt_doubled_odd(acc[5], acc[4]), zp, y);
        tinyrt_finish_column(&run, 0, tinyrt_doubled_even(acc[0]), tinyrt_doubled_even(acc[4]), zp,
                             y);
        tinyrt_finish_column(&run, 3, tinyrt_doubled_odd(acc[3], acc[2]),
                             tinyrt_doubled_odd(acc[7], acc[6]), zp, y);
        tinyrt_finish_column(&run, 2, tinyrt_doubled_even(acc[2]), tinyrt_doubled_even(acc[6]), zp,
                             y);
        run.init += 4;
        run.mult += p->requant_step;
        run.shift += p->requant_step;
        y += 4;
    }
}

#endif
