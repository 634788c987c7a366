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

/** The products of a run of blocks with one column, and with two: of the last block if that is set,
 *  which lies beside the outputs, else of all whole ones. Runs are set out in these functions: a
 *  struct that is passed takes its place on the stack twice. */
typedef void (*tinyrt_run_product)(const tinyrt_block_s8_params *p, const tinyrt_single *column,
                                   int last, int8_t *y);
typedef void (*tinyrt_two_run_product)(const tinyrt_block_s8_params *p,
                                       const tinyrt_taps_word *columns, int last, int8_t *y);

/** Whole blocks, or the last one; words is the size of a block of weights. */
static inline tinyrt_run tinyrt_run_of(const tinyrt_block_s8_params *p, int32_t words, int last,
                                       int8_t *y) {
    const int32_t whole = p->c_out >> 2;
    const int32_t first = last ? whole : 0;
    const int32_t step = first * p->requant_step;
    const tinyrt_run run = {
        p->w + (first * words), p->init + (first * 4), p->mult + step, p->shift + step, y,
        last ? 4 : p->c_out,    last ? 1 : whole,
    };
    return run;
}

/** All channels of a column; whole blocks last, where compilers jump to their product. */
static inline void tinyrt_all_blocks(const tinyrt_block_s8_params *p, tinyrt_run_product product,
                                     const tinyrt_single *column, int8_t *y) {
    if ((p->c_out & 3) != 0) {
        int8_t last[4];
        product(p, column, 1, last);
        const int32_t some = p->c_out & 3;
        int8_t *const behind = y + p->c_out;
        for (int32_t i = 0; i != some; ++i) {
            TINYRT_SHORT_LOOP;
            behind[i - some] = last[i];
        }
    }
    product(p, column, 0, y);
}

/** Those channels of two columns that are left. */
static inline void tinyrt_last_two_blocks(const tinyrt_block_s8_params *p,
                                          tinyrt_two_run_product product,
                                          const tinyrt_taps_word *columns, int8_t *y) {
    int8_t last[8];
    product(p, columns, 1, last);
    const int32_t some = p->c_out & 3;
    int8_t *const behind = y + p->c_out;
    int8_t *const second = behind + p->c_out;
    for (int32_t i = 0; i != some; ++i) {
        TINYRT_SHORT_LOOP;
        behind[i - some] = last[i];
        second[i - some] = last[4 + i];
    }
}

/** All channels of two columns. */
static inline void tinyrt_all_two_blocks(const tinyrt_block_s8_params *p,
                                         tinyrt_two_run_product product,
                                         const tinyrt_taps_word *columns, int8_t *y) {
    product(p, columns, 0, y);
    if ((p->c_out & 3) != 0) {
        tinyrt_last_two_blocks(p, product, columns, y);
    }
}

#endif
