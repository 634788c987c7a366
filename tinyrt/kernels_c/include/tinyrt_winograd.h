/** Convolutions of 3 x 3 and stride 1 with fewer products: Winograd's F(2 x 2, 3 x 3), in integers.
 */
#ifndef TINYRT_WINOGRAD_H
#define TINYRT_WINOGRAD_H

#include "tinyrt_window_block.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requires: a window of 3 x 3 without strides, dilation and groups; y_line_step elements lie
 *  between the outputs of one row and of the next one. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t y_line_step;
    int32_t x_zp;
    tinyrt_block_s8_params block;
} tinyrt_winograd_s8_params;

/** As tinyrt_window_block_s8, for windows of 3 x 3 with stride 1 and weights that have been
 *  transformed.
 *
 *  Four outputs, a tile, take 16 products for each input channel instead of 36: sums and
 *  differences of 4 x 4 inputs times those of 3 x 3 weights. All of them are integers, and sums
 * wrap where the outputs' accumulators do not, so that the answers are exact.
 *
 *  block.taps is x.c. block.w holds for every four output channels, 16 places of a tile and input
 *  channels the transformed weights, and block.init four times the accumulators' first values.
 *  tiles has room for 32 * x.c taps; sums for 512 bytes, and for 24 * x.c.
 *  Requires: x.c is a multiple of four; sums as for tinyrt_block_s8. y may overlap x only where
 *  every two rows are written behind the rows still read. */
void tinyrt_winograd_s8(const tinyrt_winograd_s8_params *p, const int8_t *x,
                        tinyrt_taps_word *tiles, int32_t *sums, int8_t *y);

/** Some channels of two tiles, which are all of p->y: those of block, of which p->y.c are in all.
 *  y is the first one's output. What the tiles read is transformed if fills is not 0; else tiles
 *  holds it from an earlier call. */
void tinyrt_winograd_part_s8(const tinyrt_winograd_s8_params *p, int32_t fills, const int8_t *x,
                             tinyrt_taps_word *tiles, int32_t *sums, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
