/** depthwise_conv2d of windows three columns wide on lanes of x86: line by line. */
#ifndef TINYRT_DEPTHWISE_LINES_X86_H
#define TINYRT_DEPTHWISE_LINES_X86_H

#include "tinyrt_border.h"
#include "tinyrt_output_x86.h"

#ifdef __cplusplus
extern "C" {
#endif

/** together: lines of outputs that one pass makes, 1 or 2. stride: columns from one output to the
 *  next, 1 or 2. height, width: lines, and outputs of a line. channels: of an output; two pixels of
 *  eight channels are one output of sixteen. rows: where the four rows of a column lie from its
 *  first. column: bytes from one column to the next. row_step: bytes from the windows of one line
 *  to those of the next. w: vectors of channels x three columns x together x lanes x four. quant:
 *  see tinyrt_tile.h. copies: output channels for each input channel. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_border border;
    int32_t copies;
    const int8_t *w;
    const int32_t *quant;
    const int32_t *rows;
    int32_t together;
    int32_t stride;
    int32_t height;
    int32_t width;
    int32_t channels;
    int32_t column;
    int32_t row_step;
    tinyrt_output_x86 out;
} tinyrt_depthwise_lines_x86_params;

/** y = clamp(requant(bias + sum((x - x_zp) * w)) + y_zp). scratch holds an image with its border,
 *  each channel copies times, and fifteen more bytes. y overlaps nothing. */
void tinyrt_depthwise_lines_x86(const tinyrt_depthwise_lines_x86_params *p, const int8_t *x,
                                uint8_t *scratch, int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
