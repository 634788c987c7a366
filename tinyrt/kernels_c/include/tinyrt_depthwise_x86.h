/** depthwise_conv2d on lanes of x86. */
#ifndef TINYRT_DEPTHWISE_X86_H
#define TINYRT_DEPTHWISE_X86_H

#include "tinyrt_border.h"
#include "tinyrt_output_x86.h"

#ifdef __cplusplus
extern "C" {
#endif

/** rows: where each row of a window begins in an image with its border, from the first one's
 *  beginning, filled up to fours of rows. w: vectors of channels x kernel_w x fours x lanes x four.
 *  quant: see tinyrt_tile.h. copies: output channels for each input channel. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_border border;
    int32_t copies;
    const int8_t *w;
    const int32_t *quant;
    const int32_t *rows;
    int32_t fours;
    int32_t kernel_h;
    int32_t kernel_w;
    int32_t dilation_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t out_h;
    int32_t out_w;
    tinyrt_output_x86 out;
} tinyrt_depthwise_x86_params;

/** y = clamp(requant(bias + sum((x - x_zp) * w)) + y_zp). scratch holds an image with its border,
 *  each channel copies times, and fifteen more bytes; taps hold 64 bytes for each of the fours of
 *  each column of the border's width. y overlaps nothing. */
void tinyrt_depthwise_x86(const tinyrt_depthwise_x86_params *p, const int8_t *x, uint8_t *scratch,
                          uint8_t *taps, int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
