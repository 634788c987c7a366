#include "tinyrt_window_four.h"

#include "tinyrt_block_four_s8.h"
#include "tinyrt_window_four_loop.h"

void tinyrt_window_four_pixels_s8(const tinyrt_window_block_s8_params *p, int32_t first,
                                  int32_t count, const int8_t *x, int32_t *triples, int8_t *patch,
                                  int8_t *y) {
    tinyrt_window_four_pixels(p, tinyrt_block_four_s8, first, count, x, triples, patch, y);
}
