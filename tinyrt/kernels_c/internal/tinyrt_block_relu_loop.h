/** Blocks of four output channels over one or two columns, of layers with the output zero point
 *  -128: a source defines TINYRT_BLOCK_DOT_ONE and TINYRT_BLOCK_DOT_TWO as for
 *  tinyrt_block_loop.h, and TINYRT_WORDS_BEFORE_LAST(p), the words of weights before a last block
 *  that is not whole, and includes this. */
#ifndef TINYRT_BLOCK_RELU_LOOP_H
#define TINYRT_BLOCK_RELU_LOOP_H

#include "tinyrt_block_runs.h"

/** A run of blocks: where their constants begin, and how far apart the outputs of two columns
 *  lie. */
typedef struct {
    const int32_t *w;
    const int32_t *init;
    const int32_t *scale;
    int32_t y_step;
    int32_t blocks;
} tinyrt_relu_run;

static inline tinyrt_relu_run tinyrt_relu_run_of(const tinyrt_block_s8_params *p, int last) {
    const int32_t whole = p->c_out >> 2;
    const int32_t first = last ? whole : 0;
    const tinyrt_relu_run run = {
        p->w + (last ? TINYRT_WORDS_BEFORE_LAST(p) : 0),
        p->init + (first * 4),
        p->mult + (first * p->requant_step),
        last ? 4 : p->c_out,
        last ? 1 : whole,
    };
    return run;
}

/** 2^16 times what an output is above -128, and more. */
static inline uint32_t tinyrt_relu_scaled(uint32_t sum, int32_t raise, int32_t factor,
                                          int32_t addend) {
    return (uint32_t)tinyrt_add_floored_mul((int32_t)(sum << raise), factor, addend);
}

/** Four outputs from sums that tinyrt_relu_scaled gave for channels 0 and 2, and for 1 and 3. */
static inline void tinyrt_store_relu(uint32_t first, uint32_t third, uint32_t second,
                                     uint32_t fourth, int8_t *y) {
    const uint32_t even = tinyrt_limit_pair(tinyrt_high_halves(first, third));
    const uint32_t odd = tinyrt_limit_pair(tinyrt_high_halves(second, fourth));
    tinyrt_store_word(y, (even | odd << 8) ^ 0x80808080U);
}

static inline uint32_t tinyrt_odd_sum(int32_t odd, int32_t even) {
    return (uint32_t)odd - (uint32_t)even;
}

static TINYRT_NOINLINE void tinyrt_relu_one_column(const tinyrt_block_s8_params *p,
                                                   const tinyrt_single *column, int last,
                                                   int8_t *y) {
    const int32_t taps = p->taps;
    tinyrt_relu_run run = tinyrt_relu_run_of(p, last);
    const int32_t step = p->requant_step;
    const int32_t odd = p->y_zp;
    const int32_t even = odd + 8;
    for (; run.blocks != 0; --run.blocks) {
        const int32_t *const k = run.scale;
        int32_t acc[4] = {run.init[0], run.init[1], run.init[2], run.init[3]};
        run.w = TINYRT_BLOCK_DOT_ONE(run.w, column, taps, acc);
        const uint32_t second = tinyrt_odd_sum(acc[1], acc[0]);
        const uint32_t fourth = tinyrt_odd_sum(acc[3], acc[2]);
        tinyrt_store_relu(tinyrt_relu_scaled((uint32_t)acc[0], even, k[0], k[1]),
                          tinyrt_relu_scaled((uint32_t)acc[2], even, k[4], k[5]),
                          tinyrt_relu_scaled(second, odd, k[2], k[3]),
                          tinyrt_relu_scaled(fourth, odd, k[6], k[7]), y);
        run.init += 4;
        run.scale += step;
        y += 4;
    }
}

static TINYRT_NOINLINE void tinyrt_relu_two_columns(const tinyrt_block_s8_params *p,
                                                    const tinyrt_taps_word *columns, int last,
                                                    int8_t *y) {
    const int32_t taps = p->taps;
    tinyrt_relu_run run = tinyrt_relu_run_of(p, last);
    const int32_t step = p->requant_step;
    const int32_t odd = p->y_zp;
    const int32_t even = odd + 8;
    for (; run.blocks != 0; --run.blocks) {
        const int32_t *const init = run.init;
        const int32_t *const k = run.scale;
        int32_t acc[8] = {init[0], init[1], init[2], init[3], init[0], init[1], init[2], init[3]};
        run.w = TINYRT_BLOCK_DOT_TWO(run.w, columns, taps, acc);
        const uint32_t first[2] = {
            tinyrt_relu_scaled((uint32_t)acc[0], even, k[0], k[1]),
            tinyrt_relu_scaled((uint32_t)acc[4], even, k[0], k[1]),
        };
        const uint32_t third[2] = {
            tinyrt_relu_scaled((uint32_t)acc[2], even, k[4], k[5]),
            tinyrt_relu_scaled((uint32_t)acc[6], even, k[4], k[5]),
        };
        const uint32_t second[2] = {
            tinyrt_relu_scaled(tinyrt_odd_sum(acc[1], acc[0]), odd, k[2], k[3]),
            tinyrt_relu_scaled(tinyrt_odd_sum(acc[5], acc[4]), odd, k[2], k[3]),
        };
        const uint32_t fourth[2] = {
            tinyrt_relu_scaled(tinyrt_odd_sum(acc[3], acc[2]), odd, k[6], k[7]),
            tinyrt_relu_scaled(tinyrt_odd_sum(acc[7], acc[6]), odd, k[6], k[7]),
        };
        tinyrt_store_relu(first[0], third[0], second[0], fourth[0], y);
        tinyrt_store_relu(first[1], third[1], second[1], fourth[1], y + run.y_step);
        run.init += 4;
        run.scale += step;
        y += 4;
    }
}

#endif
