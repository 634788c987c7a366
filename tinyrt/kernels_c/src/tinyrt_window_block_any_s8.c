#include "tinyrt_window_block.h"

#include "tinyrt_block_any_s8.h"
#include "tinyrt_columns.h"

/* What a first layer reads in colour. */
#ifdef TINYRT_ANY_WORD
#define TINYRT_NINES
#endif
#include "tinyrt_window_loop.h"

void tinyrt_window_block_any_s8(const tinyrt_window_block_s8_params *p, const int8_t *x,
                                tinyrt_taps_word *columns, int8_t *patch, int8_t *y) {
    tinyrt_window_loop(p, tinyrt_block_any_s8, tinyrt_two_blocks_any_s8, x, columns, patch, y);
}
