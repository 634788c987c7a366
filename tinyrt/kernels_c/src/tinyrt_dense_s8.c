#include "tinyrt_dense.h"

void tinyrt_dense_s8(const tinyrt_dense_s8_params *p, const int8_t *x, tinyrt_taps_word *columns,
                     int8_t *y) {
    const int32_t c_in = p->c_in;
    for (int32_t left = p->rows >> 1; left > 0; --left) {
        tinyrt_widen_all(x, c_in, columns);
        tinyrt_widen_all(x + c_in, c_in, columns + 1);
        tinyrt_two_blocks_s8(&p->block, columns, y);
        x += 2 * c_in;
        y += 2 * p->block.c_out;
    }
    if (p->rows & 1) {
        tinyrt_block_s8(&p->block, tinyrt_set_single(x, c_in, columns), y);
    }
}
