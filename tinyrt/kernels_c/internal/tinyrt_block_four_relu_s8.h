/** The product of four pixels' activations with all filters, of layers with the output zero point
 *  -128. */
#ifndef TINYRT_BLOCK_FOUR_RELU_S8_H
#define TINYRT_BLOCK_FOUR_RELU_S8_H

#include "tinyrt_block_four.h"

/** The same of scales as tinyrt_block_relu_s8 has them: p->mult has three entries for two channels.
 */
tinyrt_four_product tinyrt_block_four_relu_s8;

#endif
