/** The matrix product of tinyrt_block_s8 over those weights alone that are not zero, block by
 * block. */
#ifndef TINYRT_BLOCK_SPARSE_S8_H
#define TINYRT_BLOCK_SPARSE_S8_H

#include "tinyrt_block.h"

/** As tinyrt_block_s8 and tinyrt_two_blocks_s8, but w holds runs of four taps or multiples of that,
 *  and p->taps is how many words those blocks have that are whole. */
void tinyrt_block_sparse_s8(const tinyrt_block_s8_params *p, const tinyrt_single *column,
                            int8_t *y);

void tinyrt_two_blocks_sparse_s8(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                                 int8_t *y);

#endif
