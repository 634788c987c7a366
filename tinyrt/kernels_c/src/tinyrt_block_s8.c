#include "tinyrt_block_s8.h"

#define TINYRT_BLOCK_DOT_ONE tinyrt_dot_words
#define TINYRT_BLOCK_DOT_TWO tinyrt_dot_two
#define TINYRT_BLOCK_HELD TINYRT_HELD_FOR_LINE
#define TINYRT_RUN_OF(p, last, y) tinyrt_run_of(p, p->taps, last, y)
#include "tinyrt_block_loop.h"

void tinyrt_block_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y) {
    tinyrt_all_blocks(p, tinyrt_one_column, column, y);
}

void tinyrt_two_blocks_s8(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                          int8_t *y) {
    tinyrt_all_two_blocks(p, tinyrt_two_columns, columns, y);
}
