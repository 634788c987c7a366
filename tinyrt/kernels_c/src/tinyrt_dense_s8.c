#include "tinyrt_dense.h"

void tinyrt_dense_s8(const tinyrt_dense_s8_params *p, const int8_t *x, tinyrt_taps_word *columns,
                     int8_t *y) {
    int32_t lanes = 2;
    for (int32_t left = p->rows; left > 0; left -= lanes) {
        lanes = left > 1 ? 2 : 1;
        for (int32_t lane = 0; lane < lanes; ++lane) {
            tinyrt_widen_all(x, p->c_in, lanes, columns + lane);
            x += p->c_in;
        }
        tinyrt_blocks_s8(&p->block, columns, lanes, y);
        y += lanes * p->block.c_out;
    }
}
