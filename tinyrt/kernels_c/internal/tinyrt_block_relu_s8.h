/** The matrix product of tinyrt_block_s8 for layers with the output zero point -128, as a ReLU
 *  leaves it. */
#ifndef TINYRT_BLOCK_RELU_S8_H
#define TINYRT_BLOCK_RELU_S8_H

#include "tinyrt_block.h"

/** y = requant(init + sum(x * w)) - 128, of parameters as tinyrt_block_s8_params has them for it; y
 *  overlaps the column only where there are no more than four channels. */
void tinyrt_block_relu_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y);

/** As tinyrt_block_relu_s8 for two interleaved columns, whose outputs lie c_out apart. */
void tinyrt_two_blocks_relu_s8(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                               int8_t *y);

#endif
