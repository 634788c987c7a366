/** Convolutions as products of four pixels, however they end. */
#ifndef TINYRT_WINDOW_FOUR_LOOP_H
#define TINYRT_WINDOW_FOUR_LOOP_H

#include "tinyrt_block_four.h"
#include "tinyrt_window_triples.h"

/** All outputs; product is a constant where this is called. */
static inline void tinyrt_window_four_loop(const tinyrt_window_block_s8_params *p,
                                           tinyrt_four_product product, const int8_t *x,
                                           int32_t *triples, int8_t *patch, int8_t *y) {
    const int32_t c_out = p->block.c_out;
    tinyrt_output_place place = {x, 0, 0};
    for (int32_t left = p->y.n * p->y.h * p->y.w; left > 0; left -= 4) {
        const tinyrt_offsets out = tinyrt_offsets_of(c_out, left);
        tinyrt_window_triples(p, &place, left, triples, patch);
        product(&p->block, triples, &out, y);
        y += 4 * c_out;
    }
}

#endif
