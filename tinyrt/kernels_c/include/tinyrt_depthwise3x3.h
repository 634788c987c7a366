/** Depthwise convolutions with filters of 3 x 3, channel by channel. */
#ifndef TINYRT_DEPTHWISE3X3_H
#define TINYRT_DEPTHWISE3X3_H

#include "tinyrt_lines.h"
#include "tinyrt_requant4.h"

#ifdef __cplusplus
extern "C" {
#endif

/** w holds 12 bytes for each channel, see tinyrt_load_filter3; init is bias - x_zp * sum(w).
 *  Requires: as many channels in x as in y; stride_w is 1 or 2; no dilation;
 *  |init + sum(x * w)| < 2^29. */
typedef struct {
    tinyrt_line_params line;
    const int8_t *w;
    const int32_t *init;
    const int32_t *mult;
    const int8_t *shift;
    int32_t requant_step;
    int32_t y_zp;
} tinyrt_depthwise3x3_s8_params;

/** y = requant(bias + sum((x - x_zp) * w)) + y_zp.
 *  lines has room for three lines; y may overlap x only where it is written behind what is still
 * read. */
void tinyrt_depthwise3x3_s8(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x, int8_t *lines,
                            int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
