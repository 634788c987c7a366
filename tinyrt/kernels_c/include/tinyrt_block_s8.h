/** The matrix product that convolutions and dense layers share: one or two columns of activations
 *  times all filters, four output channels at a time. */
#ifndef TINYRT_BLOCK_S8_H
#define TINYRT_BLOCK_S8_H

#include "tinyrt_columns.h"
#include "tinyrt_requant4.h"

/** One layer's constants, with blocks of four output channels padded by zeros.
 *
 *  init holds the accumulators' first values: bias - x_zp * sum(w) of channels 0 and 2 of a block,
 *  and with 256 times those of channels 1 and 3 behind them.
 *  mult and shift have an entry for every channel of every block (requant_step 4), or four that
 *  serve all blocks (0).
 *  Requires: |bias + sum((x - x_zp) * w)| < 2^23 for all x; taps is a multiple of four. */
typedef struct {
    int32_t taps;
    int32_t c_out;
    const int32_t *w;
    const int32_t *init;
    const int32_t *mult;
    const int8_t *shift;
    int32_t requant_step;
    int32_t y_zp;
} tinyrt_block_s8_params;

/** y = requant(init + sum(x * w)) + y_zp for all channels of a single column; y overlaps it only
 *  where there are no more than four channels. */
void tinyrt_block_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y);

/** As tinyrt_block_s8 for two interleaved columns, whose outputs lie c_out apart. */
void tinyrt_two_blocks_s8(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                          int8_t *y);

#endif
