/** The matrix product that convolutions and dense layers share: one or two columns of activations
 *  times all filters, four output channels at a time. */
#ifndef TINYRT_BLOCK_S8_H
#define TINYRT_BLOCK_S8_H

#include "tinyrt_block.h"

/** y = requant(init + sum(x * w)) + y_zp for all channels of a single column; y overlaps it only
 *  where there are no more than four channels. */
void tinyrt_block_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y);

/** As tinyrt_block_s8 for two interleaved columns, whose outputs lie c_out apart. */
void tinyrt_two_blocks_s8(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                          int8_t *y);

#endif
