/** The matrix product of code that serves constants of later models: those packed for
 *  tinyrt_block_relu_s8 or those for tinyrt_block_s8, whichever there are. */
#ifndef TINYRT_BLOCK_ANY_S8_H
#define TINYRT_BLOCK_ANY_S8_H

#include "tinyrt_block_relu_s8.h"
#include "tinyrt_block_s8.h"

/** Whether scales are packed for tinyrt_block_relu_s8: shifts are 0 then, and more otherwise. */
static inline int tinyrt_has_relu_scales(const tinyrt_block_s8_params *p) {
    return p->shift[0] == 0;
}

static inline void tinyrt_block_any_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column,
                                       int8_t *y) {
    if (tinyrt_has_relu_scales(p) != 0) {
        tinyrt_block_relu_s8(p, column, y);
    } else {
        tinyrt_block_s8(p, column, y);
    }
}

static inline void tinyrt_two_blocks_any_s8(const tinyrt_block_s8_params *p,
                                            const tinyrt_taps_word *columns, int8_t *y) {
    if (tinyrt_has_relu_scales(p) != 0) {
        tinyrt_two_blocks_relu_s8(p, columns, y);
    } else {
        tinyrt_two_blocks_s8(p, columns, y);
    }
}

#endif
