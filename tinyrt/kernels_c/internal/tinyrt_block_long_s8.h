/** As tinyrt_block_s8 for layers whose sums or scales do not fit it: sums are taken apart every
 *  few taps, and shifts may go left. */
#ifndef TINYRT_BLOCK_LONG_S8_H
#define TINYRT_BLOCK_LONG_S8_H

#include "tinyrt_block.h"

/** y = requant(init + sum(x * w)) + y_zp for all channels of a single column, which y does not
 *  overlap. init holds plain first values; shifts are those of tinyrt_requant_any. */
void tinyrt_block_long_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y);

/** As tinyrt_block_long_s8 for two interleaved columns, whose outputs lie c_out apart. */
void tinyrt_two_blocks_long_s8(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                               int8_t *y);

#endif
