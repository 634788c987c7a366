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

/** count pixels of a single image from first on, which lies in the first row; y points to its
 *  outputs. Four pixels may lie in several rows. Slices of an inference are made of them. */
typedef void tinyrt_window_four_run(const tinyrt_window_block_s8_params *p, int32_t first,
                                    int32_t count, const int8_t *x, int32_t *triples, int8_t *patch,
                                    int8_t *y);

tinyrt_window_four_run tinyrt_window_four_pixels_s8, tinyrt_window_four_pixels_relu_s8,
    tinyrt_window_four_pixels_raised_s8;

/** Some channels of such a run of at most four pixels, as for tinyrt_dense_four_some. */
typedef void tinyrt_window_four_some(const tinyrt_window_block_s8_params *p, int32_t first,
                                     int32_t count, int32_t fills, int32_t c_out, const int8_t *x,
                                     int32_t *triples, int8_t *patch, int8_t *y);

tinyrt_window_four_some tinyrt_window_four_part_s8, tinyrt_window_four_part_relu_s8,
    tinyrt_window_four_part_raised_s8;

#ifdef __cplusplus
}
#endif

#endif
