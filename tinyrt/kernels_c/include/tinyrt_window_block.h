/** Convolutions over packed weights. */
#ifndef TINYRT_WINDOW_BLOCK_H
#define TINYRT_WINDOW_BLOCK_H

#include "tinyrt_block.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requires: one group, no dilation; block.taps is kernel_h * kernel_w * x.c, padded. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t x_zp;
    tinyrt_block_s8_params block;
} tinyrt_window_block_s8_params;

/** y = requant(bias + sum((x - x_zp) * w)) + y_zp.
 *  columns has room for two columns, patch for block.taps bytes; y may overlap x only where every
 * row is written behind the rows still read. */
typedef void tinyrt_window_kernel(const tinyrt_window_block_s8_params *p, const int8_t *x,
                                  tinyrt_taps_word *columns, int8_t *patch, int8_t *y);

/** Over constants packed for tinyrt_block_s8, tinyrt_block_s4, tinyrt_block_sparse_s8 and
 *  tinyrt_block_relu_s8. */
tinyrt_window_kernel tinyrt_window_block_s8, tinyrt_window_block_s4, tinyrt_window_block_sparse_s8,
    tinyrt_window_block_relu_s8, tinyrt_window_block_any_s8;

/** count pixels of a single image from first on, which lies in the first row; y points to its
 *  outputs. Pairs of pixels may lie in two rows. Slices of an inference are made of them. */
typedef void tinyrt_window_run(const tinyrt_window_block_s8_params *p, int32_t first, int32_t count,
                               const int8_t *x, tinyrt_taps_word *columns, int8_t *patch,
                               int8_t *y);

tinyrt_window_run tinyrt_window_pixels_s8, tinyrt_window_pixels_s4, tinyrt_window_pixels_sparse_s8,
    tinyrt_window_pixels_relu_s8, tinyrt_window_pixels_any_s8;

/** Some channels of one or two pixels of a row: block.c_out of c_out, at most 64, whose outputs y
 *  points to. columns are filled only where fills is not 0; else they hold what the last call for
 *  these pixels has left there. Slices of an inference are made of them. */
typedef void tinyrt_window_some(const tinyrt_window_block_s8_params *p, int32_t fills,
                                int32_t c_out, const int8_t *x, tinyrt_taps_word *columns,
                                int8_t *patch, int8_t *y);

tinyrt_window_some tinyrt_window_part_s8, tinyrt_window_part_s4, tinyrt_window_part_sparse_s8,
    tinyrt_window_part_relu_s8, tinyrt_window_part_any_s8;

#ifdef __cplusplus
}
#endif

#endif
