/** Some channels of one or two columns. */
#ifndef TINYRT_PART_OF_COLUMNS_H
#define TINYRT_PART_OF_COLUMNS_H

#include "tinyrt_block.h"
#include "tinyrt_copy.h"

/** Most channels of a part. */
#define TINYRT_MOST_OF_COLUMNS 64

/** Copies outputs of a part, all of which lie at multiples of four where aligned is not 0. */
static inline void tinyrt_move_part(const int8_t *from, int32_t count, int32_t aligned, int8_t *y) {
    if (aligned != 0) {
        tinyrt_copy_words(from, y + count, y);
    } else {
        (void)tinyrt_copy(from, y + count, y);
    }
}

/** The channels of block, of which there are c_out in all; one and two are constants where this is
 *  called. */
static inline void tinyrt_part_of_columns(const tinyrt_block_s8_params *block,
                                          tinyrt_block_product one, tinyrt_two_blocks_product two,
                                          int32_t count, int32_t c_out,
                                          const tinyrt_taps_word *columns, int8_t *y) {
    const int32_t channels = block->c_out;
    int32_t words[2 * TINYRT_MOST_OF_COLUMNS / 4];
    int8_t *const both = (int8_t *)words;
    TINYRT_ASSERT(channels <= TINYRT_MOST_OF_COLUMNS);
    if (count == 1) {
        one(block, (const tinyrt_single *)(const void *)columns, y);
        return;
    }
    two(block, columns, both);
    const int32_t aligned = (((uint32_t)(channels | c_out) | (uintptr_t)y) % 4U) == 0U;
    tinyrt_move_part(both, channels, aligned, y);
    tinyrt_move_part(both + channels, channels, aligned, y + c_out);
}

#endif
