/** Four pixels, two output channels at a time or two pairs of them, as TINYRT_TRIPLE_PAIRS says. A
 *  source defines functions for the first channel and for the other one, TINYRT_FOUR_OUTPUTS and
 *  TINYRT_FOUR_OTHER_OUTPUTS, like tinyrt_finish_four; those for products with a pair and with two,
 *  TINYRT_FOUR_DOT and TINYRT_FOUR_DOT_PAIRS; how many entries of mult lie from the first channel
 * to the other one, TINYRT_FOUR_FIRST, and from there on, TINYRT_FOUR_SECOND; and includes this. */
#ifndef TINYRT_BLOCK_FOUR_LOOP_H
#define TINYRT_BLOCK_FOUR_LOOP_H

#include "tinyrt_block_four.h"
#include "tinyrt_dot_triples.h"

#if TINYRT_TRIPLE_PAIRS == 1
#define TINYRT_FOUR_DOT_MORE TINYRT_FOUR_DOT
#else
#define TINYRT_FOUR_DOT_MORE TINYRT_FOUR_DOT_PAIRS
#endif

/** The three sums that begin with a channel's first value, and with what all begin with. */
static inline void tinyrt_begin_triple(const int32_t *all, int32_t init, int32_t *sums) {
    const uint32_t first = (uint32_t)init;
    sums[0] = (int32_t)(first + (first << 24) + (uint32_t)all[0]);
    sums[1] = (int32_t)(first + (first << 16) + (uint32_t)all[1]);
    sums[2] = (int32_t)(first + (first << 8) + (uint32_t)all[2]);
}

static TINYRT_NOINLINE void tinyrt_two_channels_of_four(const tinyrt_block_s8_params *p,
                                                        const int32_t *triples,
                                                        const tinyrt_offsets *out, int8_t *y) {
    const int32_t taps = p->taps;
    const int32_t step = p->requant_step;
    const int32_t *init = p->init;
    const int32_t *mult = p->mult;
    const int8_t *shift = p->shift;
    const TINYRT_FOUR_WEIGHT *w = (const TINYRT_FOUR_WEIGHT *)p->w;
    int32_t all[TINYRT_TRIPLE];
    TINYRT_FOUR_BEGIN(triples, taps, all);
    int32_t sums[TINYRT_TRIPLE_PAIRS * TINYRT_TRIPLE_SUMS];
    const int32_t *pair = sums + TINYRT_TRIPLE_SUMS;
    for (int32_t left = p->c_out; left > 0; left -= 2) {
        if ((TINYRT_TRIPLE_PAIRS == 1) || (pair != sums)) {
            tinyrt_begin_triple(all, init[0], sums);
            tinyrt_begin_triple(all, init[1], sums + TINYRT_TRIPLE);
            init += 2;
            pair = sums;
            if ((TINYRT_TRIPLE_PAIRS == 1) || (left <= 2)) {
                w = TINYRT_FOUR_DOT(w, triples, taps, sums);
            } else {
                tinyrt_begin_triple(all, init[0], sums + TINYRT_TRIPLE_SUMS);
                tinyrt_begin_triple(all, init[1], sums + TINYRT_TRIPLE_SUMS + TINYRT_TRIPLE);
                init += 2;
                w = TINYRT_FOUR_DOT_MORE(w, triples, taps, sums);
            }
        } else {
            pair = sums + TINYRT_TRIPLE_SUMS;
        }
        TINYRT_FOUR_OUTPUTS(p, pair, mult, shift, out, y);
        if (left > 1) {
            mult += step * TINYRT_FOUR_FIRST;
            shift += step;
            TINYRT_FOUR_OTHER_OUTPUTS(p, pair + TINYRT_TRIPLE, mult, shift, out, y + 1);
            mult += step * TINYRT_FOUR_SECOND;
            shift += step;
        }
        y += 2;
    }
}

#endif
