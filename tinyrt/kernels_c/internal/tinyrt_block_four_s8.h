/** The product of four pixels' activations with all filters. */
#ifndef TINYRT_BLOCK_FOUR_S8_H
#define TINYRT_BLOCK_FOUR_S8_H

#include "tinyrt_block_four.h"

/** y = requant(init + sum(x * w)) + y_zp. */
tinyrt_four_product tinyrt_block_four_s8;

#endif
