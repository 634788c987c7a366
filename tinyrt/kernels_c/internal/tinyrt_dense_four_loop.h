/** Dense layers as products of four rows, however they end. */
#ifndef TINYRT_DENSE_FOUR_LOOP_H
#define TINYRT_DENSE_FOUR_LOOP_H

#include "tinyrt_block_four.h"
#include "tinyrt_dense_four.h"
#include "tinyrt_set_triples.h"

/** All rows; product is a constant where this is called. */
static inline void tinyrt_dense_four_loop(const tinyrt_dense_s8_params *p,
                                          tinyrt_four_product product, const int8_t *x,
                                          int32_t *triples, int8_t *y) {
    const int32_t c_in = p->c_in;
    const int32_t c_out = p->block.c_out;
    tinyrt_pad_triples(c_in, triples + (TINYRT_TRIPLE * c_in));
    for (int32_t left = p->rows; left > 0; left -= 4) {
        const tinyrt_offsets in = tinyrt_offsets_of(c_in, left);
        const tinyrt_offsets out = tinyrt_offsets_of(c_out, left);
        tinyrt_set_triples(x, &in, c_in, triples);
        product(&p->block, triples, &out, y);
        x += 4 * c_in;
        y += 4 * c_out;
    }
}

/** The words of at most four rows. */
static inline void tinyrt_dense_four_fill(const tinyrt_dense_s8_params *p, const int8_t *x,
                                          int32_t *triples) {
    const tinyrt_offsets in = tinyrt_offsets_of(p->c_in, p->rows);
    tinyrt_pad_triples(p->c_in, triples + (TINYRT_TRIPLE * p->c_in));
    tinyrt_set_triples(x, &in, p->c_in, triples);
}

/** Some channels of at most four rows; likewise. */
static inline void tinyrt_dense_four_part(const tinyrt_dense_s8_params *p,
                                          tinyrt_four_product product, int32_t fills, int32_t c_out,
                                          const int8_t *x, int32_t *triples, int8_t *y) {
    const tinyrt_offsets out = tinyrt_offsets_of(c_out, p->rows);
    if (fills != 0) {
        tinyrt_dense_four_fill(p, x, triples);
    }
    product(&p->block, triples, &out, y);
}

#endif
