#include "tinyrt_dense_row.h"

#include "tinyrt_block_any_s8.h"

void tinyrt_dense_row_any_s8(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                             tinyrt_taps_word *column, int8_t *y) {
    const int in_place = (p->c_in % 4) == 0;
    tinyrt_block_any_s8(&p->block, in_place ? x : tinyrt_set_single(x, p->c_in, column), y);
}
