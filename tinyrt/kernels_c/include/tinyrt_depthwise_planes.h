/** depthwise_conv2d, one channel after the other, for cores with MVE. */
#ifndef TINYRT_DEPTHWISE_PLANES_H
#define TINYRT_DEPTHWISE_PLANES_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Lines and points are rows and columns, or columns and rows. In x, y and window, h is about lines
 *  and w about points; the steps are in bytes.
 *  band: how many output lines are computed from one copy of what they read; even, or all.
 *  column: bytes of a column of the copy, 4 or 5: what two outputs, one above the other, read of an
 *  input column. 0 where windows have one column: the lines of the copy lie side by side.
 *  positions: windows from one pair of output lines to the next, in the copy.
 *  rounding: as in tinyrt_product_s8_params.
 *  Requires: two lines of windows have 16 bytes of the copy at most; x.c is y.c and dilations
 *  are 1; stride_h is 1 or 2; windows are 2, 4 or 10 bytes of the copy apart; all lines are one
 * band where column is 0; outputs of a band, or of two lines where there are several bands, span
 * 32767 bytes at most. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    int32_t x_line_step;
    int32_t x_point_step;
    int32_t y_line_step;
    int32_t y_point_step;
    tinyrt_window window;
    int32_t x_zp;
    int32_t band;
    int32_t column;
    int32_t positions;
    int32_t rounding;
    tinyrt_requant_params requant;
} tinyrt_depthwise_planes_s8_params;

/** y = clamp(requant(bias + sum(x * w)) + y_zp); elements outside of x are x_zp. w has all taps of
 * a channel, then of the next one; bias contains what the input's zero point adds. scratch lies at
 * a multiple of two bytes. y overlaps nothing, or begins where x does and has no more lines and
 *  points: eight channels are read ahead of what is written. */
void tinyrt_depthwise_planes_s8(const tinyrt_depthwise_planes_s8_params *p, const int8_t *x,
                                const int8_t *w, const int32_t *bias, int8_t *scratch, int8_t *y);

/** As that, for the output lines [first, end) of one image of at most eight channels: whole bands,
 *  but for the last one. Lines before are computed already: scratch has what they have read. Slices
 *  of an inference are made of them. */
void tinyrt_depthwise_plane_bands_s8(const tinyrt_depthwise_planes_s8_params *p, int32_t first,
                                     int32_t end, const int8_t *x, const int8_t *w,
                                     const int32_t *bias, int8_t *scratch, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
