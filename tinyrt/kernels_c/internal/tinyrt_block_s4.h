/** The matrix product of tinyrt_block_s8, over weights of four bits. */
#ifndef TINYRT_BLOCK_S4_H
#define TINYRT_BLOCK_S4_H

#include "tinyrt_block.h"

/** As tinyrt_block_s8 and tinyrt_two_blocks_s8, but for three of the constants:
 *  w holds one 16-bit half for every tap of a block, with the weights of channels 0, 1 and 2 plus 8
 *  in the nibbles from the lowest on, and channel 3's as it is in the highest;
 *  init holds, for f = bias - x_zp * sum(w) of a block's channels, f0, 16 * f1 + f0, 256 * f2, f3;
 *  shift holds right shifts plus 1.
 *  Requires: |sum(x * w)| < 2^19 for channels 3 of blocks; |f| + 1920 * taps < 2^23. */
void tinyrt_block_s4(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y);

void tinyrt_two_blocks_s4(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                          int8_t *y);

#endif
