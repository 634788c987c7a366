#include "tinyrt_group_block.h"

#include "tinyrt_block_long_s8.h"
#include "tinyrt_group_loop.h"

void tinyrt_group_block_long_s8(const tinyrt_group_block_s8_params *p, const int8_t *x,
                                tinyrt_taps_word *columns, int8_t *patch, int8_t *y) {
    tinyrt_group_loop(p, tinyrt_block_long_s8, tinyrt_two_blocks_long_s8, NULL, x, columns, patch,
                      y);
}
