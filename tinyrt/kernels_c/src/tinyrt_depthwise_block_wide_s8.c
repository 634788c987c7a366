#include "tinyrt_depthwise_block.h"

#include "tinyrt_depthwise_loop.h"

static TINYRT_NOINLINE void line_of_block(const tinyrt_depthwise_block_s8_params *p, int32_t c,
                                          tinyrt_tapped_line line, const tinyrt_tap_entry *taps,
                                          const tinyrt_tap_entry *end) {
    tinyrt_depthwise_line_of_block(p, tinyrt_requant_any, c, line, taps, end);
}

void tinyrt_depthwise_block_wide_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                                    tinyrt_tap_entry *taps, int8_t *lines, int8_t *y) {
    tinyrt_depthwise_loop(p, line_of_block, 16, 0, x, taps, lines, y);
}
