/** Convolutions some of whose taps are read more than once, as products of four pixels. */
#ifndef TINYRT_WINDOW_FOUR_MORE_LOOP_H
#define TINYRT_WINDOW_FOUR_MORE_LOOP_H

#include "tinyrt_block_four.h"
#include "tinyrt_window_more.h"
#include "tinyrt_window_triples.h"

/** Sums of the words of all taps, which are the words of their sums, behind them. */
static TINYRT_NOINLINE void tinyrt_sum_triples(int32_t taps, int32_t *triples) {
    uint32_t sum[TINYRT_TRIPLE] = {0, 0, 0};
    int32_t *const end = triples + (TINYRT_TRIPLE * taps);
    for (const int32_t *from = triples; from != end; from += TINYRT_TRIPLE) {
        sum[0] += (uint32_t)from[0];
        sum[1] += (uint32_t)from[1];
        sum[2] += (uint32_t)from[2];
    }
    end[0] = (int32_t)sum[0];
    end[1] = (int32_t)sum[1];
    end[2] = (int32_t)sum[2];
}

/** The words of taps that are read again, or their only sum, behind those of all taps. */
static inline void tinyrt_repeat_triples(const tinyrt_window_more_s8_params *p, int32_t taps,
                                         int32_t *triples) {
    int32_t *to = triples + (TINYRT_TRIPLE * taps);
    if (p->more.taps == NULL) {
        tinyrt_sum_triples(taps, triples);
        tinyrt_pad_triples(taps + 1, to + TINYRT_TRIPLE);
        return;
    }
    for (int32_t i = 0; i < p->more.count; ++i, to += TINYRT_TRIPLE) {
        const int32_t *const from = triples + (TINYRT_TRIPLE * p->more.taps[i]);
        to[0] = from[0];
        to[1] = from[1];
        to[2] = from[2];
    }
    tinyrt_pad_triples(taps + p->more.count, to);
}

/** All outputs; product is a constant where this is called. */
static inline void tinyrt_window_four_more_loop(const tinyrt_window_more_s8_params *p,
                                                tinyrt_four_product product, const int8_t *x,
                                                int32_t *triples, int8_t *patch, int8_t *y) {
    const tinyrt_window_block_s8_params *const layer = &p->layer;
    const int32_t taps = layer->window.kernel_h * layer->window.kernel_w * layer->x.c;
    const int32_t c_out = layer->block.c_out;
    tinyrt_output_place place = {x, 0, 0};
    for (int32_t left = layer->y.n * layer->y.h * layer->y.w; left > 0; left -= 4) {
        const tinyrt_offsets out = tinyrt_offsets_of(c_out, left);
        tinyrt_window_triples(layer, &place, left, triples, patch);
        tinyrt_repeat_triples(p, taps, triples);
        product(&layer->block, triples, &out, y);
        y += 4 * out.second; /* c_out would take one more register. */
    }
}

#endif
