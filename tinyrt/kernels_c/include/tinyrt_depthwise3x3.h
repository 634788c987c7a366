/** Depthwise convolutions with filters of 3 x 3, channel by channel. */
#ifndef TINYRT_DEPTHWISE3X3_H
#define TINYRT_DEPTHWISE3X3_H

#include "tinyrt_requant4.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One of the two axes that the window slides over: elements, and bytes from one to the next.
 *  pad is how far the first window begins before the input: 0 or 1; the last one ends at most one
 *  element behind it. Along a line, x_step and y_step are the same. */
typedef struct {
    int32_t x_count;
    int32_t x_step;
    int32_t y_count;
    int32_t y_step;
    int32_t pad;
} tinyrt_axis;

/** The filter slides along one axis, line after line across the other; which is which, the order
 *  of the weights says. w holds 9 bytes for each channel, see tinyrt_load_filter3_s8, or nibbles.
 *  init is bias - x_zp * sum(w).
 *
 *  Requires: as many channels in x as in y; one stride for both axes, 1 or 2; no dilation;
 *  |init + sum(x * w)| < 2^29. */
typedef struct {
    int32_t images;
    int32_t channels;
    int32_t stride;
    tinyrt_axis along;
    tinyrt_axis across;
    int32_t x_zp;
    const int8_t *w;
    const int32_t *init;
    const int32_t *mult;
    const int8_t *shift;
    int32_t requant_step;
    int32_t y_zp;
} tinyrt_depthwise3x3_s8_params;

/** y = requant(bias + sum((x - x_zp) * w)) + y_zp.
 *  saved has room for along.x_count bytes if stride is 1. y may begin where x does, unless stride
 *  is 2 and the filter slides down columns; else they must not overlap. */
void tinyrt_depthwise3x3_s8(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x, int8_t *saved,
                            int8_t *y);

/** As tinyrt_depthwise3x3_s8, for cores with dual multiplies: two lines at once with any output
 * zero point, where stride is 1 and outputs lie as inputs do. */
void tinyrt_depthwise3x3_signed_s8(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x,
                                   int8_t *saved, int8_t *y);

/** The same for some rows of outputs, from as many rows of inputs as lie under the filter: along is
 *  the axis of columns; of across, only the steps count. y must not overlap x.
 *  Requires: stride 1, one column of padding on both sides; at least two columns. */
void tinyrt_depthwise_rows3_s8(const tinyrt_depthwise3x3_s8_params *p, int32_t rows,
                               const int8_t *x, int8_t *y);

/** As tinyrt_depthwise3x3_s8, over weights of four bits, see tinyrt_filter3_nibbles; shifts as
 *  tinyrt_factor_of has them. */
void tinyrt_depthwise3x3_s4(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x, int8_t *saved,
                            int8_t *y);

/** As tinyrt_depthwise_rows3_s8, over such weights. */
void tinyrt_depthwise_rows3_s4(const tinyrt_depthwise3x3_s8_params *p, int32_t rows,
                               const int8_t *x, int8_t *y);

/** As tinyrt_depthwise3x3_s8, over weights of 16 bits from -2^14 to 2^14 - 1, two bytes of w to
 *  each, see tinyrt_load_filter3_wide. */
void tinyrt_depthwise3x3_wide_s8(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x,
                                 int8_t *saved, int8_t *y);

/** As tinyrt_depthwise_rows3_s8, over such weights. */
void tinyrt_depthwise_rows3_wide_s8(const tinyrt_depthwise3x3_s8_params *p, int32_t rows,
                                    const int8_t *x, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
