/** Convolutions over packed weights, four pixels at a time, for cores without dual multiplies. */
#ifndef TINYRT_WINDOW_FOUR_H
#define TINYRT_WINDOW_FOUR_H

#include "tinyrt_window_block.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As tinyrt_window_block_s8; p->block is as for tinyrt_dense_four_s8. triples has room for three
 *  words of every tap, padded, patch for four rows of the window. */
typedef void tinyrt_window_four_kernel(const tinyrt_window_block_s8_params *p, const int8_t *x,
                                       int32_t *triples, int8_t *patch, int8_t *y);

/** The second one is for scales of tinyrt_block_relu_s8: mult has two entries for a channel. The
 *  third one is for weights that are raised by 128. */
tinyrt_window_four_kernel tinyrt_window_four_s8, tinyrt_window_four_relu_s8,
    tinyrt_window_four_raised_s8;

#ifdef __cplusplus
}
#endif

#endif
