/** Dense layers some of whose elements are read more than once, as products of columns. */
#ifndef TINYRT_DENSE_MORE_LOOP_H
#define TINYRT_DENSE_MORE_LOOP_H

#include "tinyrt_dense_more.h"
#include "tinyrt_repeat_tap.h"

/** The only column: its elements, and behind them those that are read again. */
static inline const tinyrt_single *tinyrt_single_of_more(const tinyrt_more_taps *more,
                                                         const int8_t *x, int32_t count,
                                                         tinyrt_taps_word *columns) {
    tinyrt_single *const single = (tinyrt_single *)(void *)columns;
    (void)tinyrt_set_single(x, count, columns);
    for (int32_t i = 0; i < more->count; ++i) {
        TINYRT_SHORT_LOOP;
        single[count + i] = single[more->taps[i]];
    }
    return single;
}

/** All rows, two at a time; one and two are constants where this is called. */
static inline void tinyrt_dense_more_loop(const tinyrt_dense_more_s8_params *p,
                                          tinyrt_block_product one, tinyrt_two_blocks_product two,
                                          const int8_t *x, tinyrt_taps_word *columns, int8_t *y) {
    const tinyrt_block_s8_params *const block = &p->layer.block;
    const int32_t c_in = p->layer.c_in;
    for (int32_t left = p->layer.rows >> 1; left > 0; --left) {
        tinyrt_widen_all(x, c_in, columns);
        tinyrt_repeat_taps(&p->more, columns);
        tinyrt_widen_all(x + c_in, c_in, columns + 1);
        tinyrt_repeat_taps(&p->more, columns + 1);
        two(block, columns, y);
        x += 2 * c_in;
        y += 2 * block->c_out;
    }
    if ((p->layer.rows & 1) != 0) {
        one(block, tinyrt_single_of_more(&p->more, x, c_in, columns), y);
    }
}

#endif
