/** Depthwise convolutions, four channels at a time. */
#ifndef TINYRT_DEPTHWISE_BLOCK_H
#define TINYRT_DEPTHWISE_BLOCK_H

#include "tinyrt_lines.h"
#include "tinyrt_requant4.h"
#include "tinyrt_tap_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/** w is (kernel_h, kernel_w, c), as in the model; init is bias - x_zp * sum(w).
 *  Requires: c is a multiple of four and the same for x and y; no dilation;
 *  |init + sum(x * w)| < 2^29. */
typedef struct {
    tinyrt_line_params line;
    const int8_t *w;
    const int32_t *init;
    const int32_t *mult;
    const int8_t *shift;
    int32_t requant_step;
    int32_t y_zp;
} tinyrt_depthwise_block_s8_params;

/** y = requant(bias + sum((x - x_zp) * w)) + y_zp.
 *  taps has room for kernel_h * kernel_w taps, lines for as many lines as the window is
 *  high; y may overlap x only where every row is written behind the rows still read. */
void tinyrt_depthwise_block_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                               tinyrt_tap_entry *taps, int8_t *lines, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
