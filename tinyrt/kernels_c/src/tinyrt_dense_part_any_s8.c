#include "tinyrt_dense.h"

#include "tinyrt_block_any_s8.h"
#include "tinyrt_dense_loop.h"

void tinyrt_dense_part_any_s8(const tinyrt_dense_s8_params *p, int32_t fills, int32_t c_out,
                              const int8_t *x, tinyrt_taps_word *columns, int8_t *y) {
    tinyrt_dense_part(p, tinyrt_block_any_s8, tinyrt_two_blocks_any_s8, fills, c_out, x, columns,
                      y);
}
