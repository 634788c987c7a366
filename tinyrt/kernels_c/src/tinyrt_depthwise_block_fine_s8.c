#include "tinyrt_depthwise_block.h"

#define TINYRT_FINISH tinyrt_requant_any
#include "tinyrt_depthwise_loop.h"

void tinyrt_depthwise_block_fine_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                                    tinyrt_tap_entry *taps, int8_t *lines, int8_t *y) {
    tinyrt_depthwise_loop(p, 8, 0, x, taps, lines, y);
}
