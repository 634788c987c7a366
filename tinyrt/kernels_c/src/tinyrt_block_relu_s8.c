#include "tinyrt_block_relu_s8.h"

#define TINYRT_BLOCK_DOT_ONE tinyrt_dot_words
#define TINYRT_BLOCK_DOT_SPAN tinyrt_dot_span
#include "tinyrt_block_relu_loop.h"

void tinyrt_block_relu_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y) {
    tinyrt_all_blocks(p, tinyrt_relu_one_column, column, y);
}

void tinyrt_two_blocks_relu_s8(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                               int8_t *y) {
    if ((p->c_out & 3) == 0) {
        tinyrt_relu_two_columns(p, columns, 0, y); /* a jump, where it is the last thing done */
    } else {
        tinyrt_relu_two_columns(p, columns, 0, y);
        tinyrt_last_two_blocks(p, tinyrt_relu_two_columns, columns, y);
    }
}
