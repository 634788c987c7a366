/** Convolutions as products of four pixels, however they end. */
#ifndef TINYRT_WINDOW_FOUR_LOOP_H
#define TINYRT_WINDOW_FOUR_LOOP_H

#include "tinyrt_block_four.h"
#include "tinyrt_window_triples.h"

/** count outputs from first on, which lies in the first row; product is a constant where this is
 *  called. */
static inline void tinyrt_window_four_pixels(const tinyrt_window_block_s8_params *p,
                                             tinyrt_four_product product, int32_t first,
                                             int32_t count, const int8_t *x, int32_t *triples,
                                             int8_t *patch, int8_t *y) {
    const int32_t c_out = p->block.c_out;
    tinyrt_output_place place = {x, 0, first};
    for (int32_t left = count; left > 0; left -= 4) {
        const tinyrt_offsets out = tinyrt_offsets_of(c_out, left);
        tinyrt_window_triples(p, &place, left, triples, patch);
        product(&p->block, triples, &out, y);
        y += 4 * out.second; /* c_out would take one more register. */
    }
}

/** All outputs; likewise. */
static inline void tinyrt_window_four_loop(const tinyrt_window_block_s8_params *p,
                                           tinyrt_four_product product, const int8_t *x,
                                           int32_t *triples, int8_t *patch, int8_t *y) {
    const int32_t outputs = p->y.n * p->y.h * p->y.w;
    tinyrt_window_four_pixels(p, product, 0, outputs, x, triples, patch, y);
}

/** The words of count outputs, at most four, from first on. */
static inline void tinyrt_window_four_fill(const tinyrt_window_block_s8_params *p, int32_t first,
                                           int32_t count, const int8_t *x, int32_t *triples,
                                           int8_t *patch) {
    tinyrt_output_place place = {x, 0, first};
    tinyrt_window_triples(p, &place, count, triples, patch);
}

/** Some channels of these; likewise. */
static inline void tinyrt_window_four_part(const tinyrt_window_block_s8_params *p,
                                           tinyrt_four_product product, int32_t first,
                                           int32_t count, int32_t fills, int32_t c_out,
                                           const int8_t *x, int32_t *triples, int8_t *patch,
                                           int8_t *y) {
    const tinyrt_offsets out = tinyrt_offsets_of(c_out, count);
    if (fills != 0) {
        tinyrt_window_four_fill(p, first, count, x, triples, patch);
    }
    product(&p->block, triples, &out, y);
}

#endif
