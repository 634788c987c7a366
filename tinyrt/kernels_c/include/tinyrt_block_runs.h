/** Whole blocks of output channels first, then those channels that are left. */
#ifndef TINYRT_BLOCK_RUNS_H
#define TINYRT_BLOCK_RUNS_H

#include "tinyrt_block.h"

/** A run of blocks of four output channels: where their constants and outputs begin. */
typedef struct {
    const int32_t *w;
    const int32_t *init;
    const int32_t *mult;
    const int8_t *shift;
    int8_t *y;
    int32_t y_step;
    int32_t blocks;
} tinyrt_run;

/** The products of a run of blocks with one column, and with two. */
typedef void (*tinyrt_run_product)(const tinyrt_block_s8_params *p, tinyrt_run run,
                                   const tinyrt_single *column);
typedef void (*tinyrt_two_run_product)(const tinyrt_block_s8_params *p, tinyrt_run run,
                                       const tinyrt_taps_word *columns);

/** The channels that are left behind whole blocks of so many words, as a run of one block beside
 *  the outputs. */
static inline tinyrt_run tinyrt_last_block(const tinyrt_block_s8_params *p, int32_t words,
                                           int8_t *y) {
    const int32_t whole = p->c_out >> 2;
    const int32_t step = whole * p->requant_step;
    const tinyrt_run run = {
        p->w + whole * words, p->init + whole * 4, p->mult + step, p->shift + step, y, 4, 1,
    };
    return run;
}

/** All channels of a column; words is the size of a block of weights. */
static inline void tinyrt_all_blocks(const tinyrt_block_s8_params *p, int32_t words,
                                     tinyrt_run_product product, const tinyrt_single *column,
                                     int8_t *y) {
    const int32_t whole = p->c_out >> 2;
    const tinyrt_run run = {p->w, p->init, p->mult, p->shift, y, 0, whole};
    product(p, run, column);
    if (p->c_out & 3) {
        int8_t last[4];
        product(p, tinyrt_last_block(p, words, last), column);
        for (int32_t i = 4 * whole; i < p->c_out; ++i) {
            TINYRT_SHORT_LOOP;
            y[i] = last[i & 3];
        }
    }
}

/** All channels of two columns. */
static inline void tinyrt_all_two_blocks(const tinyrt_block_s8_params *p, int32_t words,
                                         tinyrt_two_run_product product,
                                         const tinyrt_taps_word *columns, int8_t *y) {
    const int32_t whole = p->c_out >> 2;
    const tinyrt_run run = {p->w, p->init, p->mult, p->shift, y, p->c_out, whole};
    product(p, run, columns);
    if (p->c_out & 3) {
        int8_t last[8];
        product(p, tinyrt_last_block(p, words, last), columns);
        for (int32_t i = 4 * whole; i < p->c_out; ++i) {
            TINYRT_SHORT_LOOP;
            y[i] = last[i & 3];
            y[p->c_out + i] = last[4 + (i & 3)];
        }
    }
}

#endif
