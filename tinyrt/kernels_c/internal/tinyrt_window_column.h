/** What one output of a convolution reads, as a column. */
#ifndef TINYRT_WINDOW_COLUMN_H
#define TINYRT_WINDOW_COLUMN_H

#include "tinyrt_window_block.h"

/** Widens what the window at row y0 and column x0 of an image reads, with the zero point where it
 *  lies outside. With no column, only copies it to patch, which has room for all taps, padded to
 *  a multiple of four. Requires: some of the window lies inside. */
void tinyrt_window_column(const tinyrt_window_block_s8_params *p, const int8_t *x, int32_t y0,
                          int32_t x0, tinyrt_taps_word *column, int8_t *patch);

#endif
