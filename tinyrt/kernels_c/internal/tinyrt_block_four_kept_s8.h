/** The product of four pixels' activations with some filters, whose weights are bytes without a
 *  sign. */
#ifndef TINYRT_BLOCK_FOUR_KEPT_S8_H
#define TINYRT_BLOCK_FOUR_KEPT_S8_H

#include "tinyrt_block_four.h"
#include "tinyrt_four_sums.h"

/** As tinyrt_block_four_raised_s8, with what all channels begin with behind the words of all taps:
 *  tinyrt_keep_begin writes it there, once for all parts. */
tinyrt_four_product tinyrt_block_four_kept_s8;

static inline void tinyrt_keep_begin(const tinyrt_block_s8_params *p, int32_t *triples) {
    tinyrt_begin_raised(triples, p->taps, triples + (TINYRT_TRIPLE * p->taps));
}

#endif
