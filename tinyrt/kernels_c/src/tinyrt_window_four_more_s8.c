#include "tinyrt_window_more.h"

#include "tinyrt_block_four_s8.h"
#include "tinyrt_window_four_more_loop.h"

void tinyrt_window_four_more_s8(const tinyrt_window_more_s8_params *p, const int8_t *x,
                                int32_t *triples, int8_t *patch, int8_t *y) {
    tinyrt_window_four_more_loop(p, tinyrt_block_four_s8, x, triples, patch, y);
}
