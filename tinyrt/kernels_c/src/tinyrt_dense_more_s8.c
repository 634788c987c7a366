#include "tinyrt_dense_more.h"

#include "tinyrt_block_s8.h"
#include "tinyrt_dense_more_loop.h"

void tinyrt_dense_more_s8(const tinyrt_dense_more_s8_params *p, const int8_t *x,
                          tinyrt_taps_word *columns, int8_t *y) {
    tinyrt_dense_more_loop(p, tinyrt_block_s8, tinyrt_two_blocks_s8, x, columns, y);
}
