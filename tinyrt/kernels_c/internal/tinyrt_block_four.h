/** Products of four pixels' activations with all filters. */
#ifndef TINYRT_BLOCK_FOUR_H
#define TINYRT_BLOCK_FOUR_H

#include "tinyrt_block.h"
#include "tinyrt_triple.h"

/** The product of four pixels; out says how far the outputs of the second to the fourth one lie
 *  behind those of the first one. */
typedef void tinyrt_four_product(const tinyrt_block_s8_params *p, const int32_t *triples,
                                 const tinyrt_offsets *out, int8_t *y);

#endif
