/** Layers packed in blocks of four output channels. */
#ifndef TINYRT_BLOCK_H
#define TINYRT_BLOCK_H

#include "tinyrt_columns.h"
#include "tinyrt_requant4.h"

/** One layer's constants, with blocks of four output channels padded by zeros.
 *
 *  init holds the accumulators' first values: bias - x_zp * sum(w) of channels 0 and 2 of a block,
 *  and with 256 times those of channels 1 and 3 behind them.
 *  mult and shift have an entry for every channel of every block (requant_step 4), or four that
 *  serve all blocks (0).
 *  For tinyrt_block_relu_s8, mult holds for every two channels a factor, the addend of both, and
 * the other factor (requant_step 6, or 0); y_zp is the left shift of sums; shift is not used. An
 * output is min((factor * sum * 2^(8 + y_zp) / 2^32 + addend) / 2^16, 255) - 128, and not below
 * -128; sums begin so that it is the right one. Requires there: |sum| * 2^y_zp < 2^23. For kernels
 * with any in their names, requant_step is 6 either way; where shifts are 0, scales are those of
 * tinyrt_block_relu_s8. For weights of four bits, y_zp has 256 times the left
 * shift that doubles accumulators, or more. Requires: |bias + sum((x - x_zp) * w)| < 2^23 for all
 * x; taps is a multiple of four. */
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

/** The products of all blocks with a single column, and with two interleaved ones. */
typedef void (*tinyrt_block_product)(const tinyrt_block_s8_params *p, const tinyrt_single *column,
                                     int8_t *y);
typedef void (*tinyrt_two_blocks_product)(const tinyrt_block_s8_params *p,
                                          const tinyrt_taps_word *columns, int8_t *y);

#endif
