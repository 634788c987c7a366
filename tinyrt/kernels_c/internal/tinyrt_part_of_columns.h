/** Some channels of one or two columns. */
#ifndef TINYRT_PART_OF_COLUMNS_H
#define TINYRT_PART_OF_COLUMNS_H

#include "tinyrt_block.h"
#include "tinyrt_copy.h"

/** Most channels of a part. */
#define TINYRT_MOST_OF_COLUMNS 64

/** The channels of block, of which there are c_out in all; one and two are constants where this is
 *  called. */
static inline void tinyrt_part_of_columns(const tinyrt_block_s8_params *block,
                                          tinyrt_block_product one, tinyrt_two_blocks_product two,
                                          int32_t count, int32_t c_out,
                                          const tinyrt_taps_word *columns, int8_t *y) {
    const int32_t channels = block->c_out;
    int8_t both[2 * TINYRT_MOST_OF_COLUMNS];
    TINYRT_ASSERT(channels <= TINYRT_MOST_OF_COLUMNS);
    if (count == 1) {
        one(block, (const tinyrt_single *)(const void *)columns, y);
        return;
    }
    two(block, columns, both);
    (void)tinyrt_copy(both, y + channels, y);
    (void)tinyrt_copy(both + channels, y + c_out + channels, y + c_out);
}

#endif
