#include "tinyrt_depthwise_block.h"

#include "tinyrt_depthwise_loop.h"

static inline int8_t finish(int32_t sum, int32_t mult, int32_t shift, int32_t zp_and_half) {
    return tinyrt_requant_doubled(sum * 2, mult, shift, zp_and_half);
}

static TINYRT_NOINLINE void line_of_block(const tinyrt_depthwise_block_s8_params *p, int32_t c,
                                          tinyrt_tapped_line line, const tinyrt_tap_entry *taps,
                                          const tinyrt_tap_entry *end) {
    tinyrt_depthwise_line_of_block(p, finish, c, line, taps, end);
}

void tinyrt_depthwise_block_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                               tinyrt_tap_entry *taps, int8_t *lines, int8_t *y) {
    tinyrt_depthwise_loop(p, line_of_block, 8, 0, x, taps, lines, y);
}
