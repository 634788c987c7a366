#include "tinyrt_dense.h"

void tinyrt_dense_row_s8(const tinyrt_dense_s8_params *p, const int8_t *x, tinyrt_taps_word *column,
                         int8_t *y) {
    TINYRT_ASSERT(p->rows == 1);
    tinyrt_widen_all(x, p->c_in, 1, column);
    tinyrt_block_s8(&p->block, column, y);
}
