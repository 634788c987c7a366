/** Depthwise convolutions, four channels at a time. */
#ifndef TINYRT_DEPTHWISE_BLOCK_H
#define TINYRT_DEPTHWISE_BLOCK_H

#include "tinyrt_copy.h"
#include "tinyrt_requant4.h"
#include "tinyrt_tap_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/** w is (kernel_h, kernel_w, y.c), as in the model, for weights of four bits two to a byte; init is
 * bias - x_zp * sum(w). line_bytes is what four channels of an input row take with their padding; 0
 * if the window never leaves the input, and rows are read in place. Negative shifts go left.
 * Requires: y.c is a multiple of four, and x.c unless channels are spread; |init + sum(x *
 * w)| * 2^-min(shift, 0) < 2^29. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t x_zp;
    int32_t line_bytes;
    const int8_t *w;
    const int32_t *init;
    const int32_t *mult;
    const int8_t *shift;
    int32_t requant_step;
    int32_t y_zp;
} tinyrt_depthwise_block_s8_params;

/** y = requant(bias + sum((x - x_zp) * w)) + y_zp.
 *  taps has room for kernel_h * kernel_w taps, lines for as many lines as the dilated window is
 *  high. y may begin where x does if it has as many channels; else they must not overlap. */
void tinyrt_depthwise_block_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                               tinyrt_tap_entry *taps, int8_t *lines, int8_t *y);

/** As tinyrt_depthwise_block_s8, over weights of four bits. */
void tinyrt_depthwise_block_s4(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                               tinyrt_tap_entry *taps, int8_t *lines, int8_t *y);

/** As tinyrt_depthwise_block_s8 for the shifts of tinyrt_requant_any. */
void tinyrt_depthwise_block_fine_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                                    tinyrt_tap_entry *taps, int8_t *lines, int8_t *y);

/** As tinyrt_depthwise_block_fine_s8, where input channels have several filters: with lines. */
void tinyrt_depthwise_block_spread_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                                      tinyrt_tap_entry *taps, int8_t *lines, int8_t *y);
void tinyrt_depthwise_block_spread_s4(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                                      tinyrt_tap_entry *taps, int8_t *lines, int8_t *y);

/** As tinyrt_depthwise_block_fine_s8, over weights of four bits. */
void tinyrt_depthwise_block_fine_s4(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                                    tinyrt_tap_entry *taps, int8_t *lines, int8_t *y);

/** As tinyrt_depthwise_block_fine_s8 and tinyrt_depthwise_block_spread_s8, over weights of 16 bits:
 *  two bytes of w to each. */
void tinyrt_depthwise_block_wide_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                                    tinyrt_tap_entry *taps, int8_t *lines, int8_t *y);
void tinyrt_depthwise_block_spread_wide_s8(const tinyrt_depthwise_block_s8_params *p,
                                           const int8_t *x, tinyrt_tap_entry *taps, int8_t *lines,
                                           int8_t *y);

/** As those without spread channels, of one image, for the channels [first, end): multiples of
 * four. Slices of an inference are made of them. */
typedef void tinyrt_depthwise_part(const tinyrt_depthwise_block_s8_params *p, int32_t first,
                                   int32_t end, const int8_t *x, tinyrt_tap_entry *taps,
                                   int8_t *lines, int8_t *y);

tinyrt_depthwise_part tinyrt_depthwise_part_s8, tinyrt_depthwise_part_s4,
    tinyrt_depthwise_part_fine_s8, tinyrt_depthwise_part_fine_s4;

#ifdef __cplusplus
}
#endif

#endif
