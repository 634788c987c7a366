/** Convolutions over packed weights, of rows that are all there. */
#ifndef TINYRT_WINDOW_ROWS_H
#define TINYRT_WINDOW_ROWS_H

#include "tinyrt_block.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A convolution whose padding above and below lies in memory; beside the rows, it sees x_zp.
 *  In bytes: row_bytes of an input row; row_step from the rows of one output row to those of the
 *  next; run of a window's row; step from one window to the next; pad, how far the first one begins
 *  before its row.
 *
 *  Requires: no dilation; every window has some bytes of its row; block.taps is kernel_h * run,
 *  padded. */
typedef struct {
    int32_t rows;
    int32_t width;
    int32_t kernel_h;
    int32_t row_bytes;
    int32_t row_step;
    int32_t run;
    int32_t step;
    int32_t pad;
    int32_t x_zp;
    tinyrt_block_s8_params block;
} tinyrt_window_rows_s8_params;

/** y = requant(bias + sum((x - x_zp) * w)) + y_zp.
 *  columns has room for two columns, patch, a multiple of four, for block.taps bytes; y may overlap
 * x only where every row is written behind the rows still read. */
typedef void tinyrt_rows_kernel(const tinyrt_window_rows_s8_params *p, const int8_t *x,
                                tinyrt_taps_word *columns, int8_t *patch, int8_t *y);

/** Over constants packed for tinyrt_block_s8, tinyrt_block_s4, tinyrt_block_sparse_s8 and
 *  tinyrt_block_relu_s8. */
tinyrt_rows_kernel tinyrt_window_rows_s8, tinyrt_window_rows_s4, tinyrt_window_rows_sparse_s8,
    tinyrt_window_rows_relu_s8;

#ifdef __cplusplus
}
#endif

#endif
