#include "tinyrt_window_more.h"

#include "tinyrt_block_any_s8.h"
#include "tinyrt_window_more_loop.h"

void tinyrt_window_more_any_s8(const tinyrt_window_more_s8_params *p, const int8_t *x,
                               tinyrt_taps_word *columns, int8_t *patch, int8_t *y) {
    tinyrt_window_more_loop(p, tinyrt_block_any_s8, tinyrt_two_blocks_any_s8, x, columns, patch, y);
}
