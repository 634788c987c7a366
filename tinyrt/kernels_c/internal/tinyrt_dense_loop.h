/** Dense layers as products of columns, whatever the weights' format. */
#ifndef TINYRT_DENSE_LOOP_H
#define TINYRT_DENSE_LOOP_H

#include "tinyrt_dense.h"
#include "tinyrt_part_of_columns.h"

/** All rows, two at a time; one and two are constants where this is called. */
static inline void tinyrt_dense_loop(const tinyrt_dense_s8_params *p, tinyrt_block_product one,
                                     tinyrt_two_blocks_product two, const int8_t *x,
                                     tinyrt_taps_word *columns, int8_t *y) {
    const int32_t c_in = p->c_in;
    for (int32_t left = p->rows >> 1; left > 0; --left) {
        tinyrt_widen_two(x, c_in, columns);
        two(&p->block, columns, y);
        x += 2 * c_in;
        y += 2 * p->block.c_out;
    }
    if ((p->rows & 1) != 0) {
        one(&p->block, tinyrt_set_single(x, c_in, columns), y);
    }
}

/** Some channels of one or two rows, likewise. */
static inline void tinyrt_dense_part(const tinyrt_dense_s8_params *p, tinyrt_block_product one,
                                     tinyrt_two_blocks_product two, int32_t fills, int32_t c_out,
                                     const int8_t *x, tinyrt_taps_word *columns, int8_t *y) {
    const int32_t c_in = p->c_in;
    if (fills != 0) {
        if (p->rows == 1) {
            (void)tinyrt_set_single(x, c_in, columns);
        } else {
            tinyrt_widen_two(x, c_in, columns);
        }
    }
    tinyrt_part_of_columns(&p->block, one, two, p->rows, c_out, columns, y);
}

#endif
