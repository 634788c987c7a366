/** The product of four pixels' activations with all filters, whose weights are bytes
 *  without a sign. */
#ifndef TINYRT_BLOCK_FOUR_RAISED_S8_H
#define TINYRT_BLOCK_FOUR_RAISED_S8_H

#include "tinyrt_block_four.h"

/** The same of weights that are raised by 128. */
tinyrt_four_product tinyrt_block_four_raised_s8;

#endif
