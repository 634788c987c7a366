/** depthwise_conv2d: each input channel has filters of its own, for cores with MVE. */
#ifndef TINYRT_DEPTHWISE_CONV2D_MVE_H
#define TINYRT_DEPTHWISE_CONV2D_MVE_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Lines and points are rows and columns, or columns and rows: the kernel computes two points of a
 *  line at once. In x, y and window, h is about lines and w about points; the steps are in bytes.
 *  band: how many output lines are computed from one copy of what they read.
 *  tap_pairs: whether no two neighbouring taps of a line can sum up to more than 16 bits, with any
 *  input.
 *  only_positive: act_min >= y_zp and no exponent is above 0.
 *  requant: in the order of the weights' channels, even ones of eight before odd ones, padded.
 *  Requires: y.c is a multiple of x.c; scratch has 8 bytes for each point that a band reads. */
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
    int32_t tap_pairs;
    int32_t only_positive;
    tinyrt_requant_params requant;
} tinyrt_depthwise_conv2d_s8_params;

/** y = clamp(requant(bias + sum(x * w)) + y_zp); output channel c reads input channel
 *  c / (y.c / x.c), elements outside of x are x_zp. w has all taps of eight channels, then of the
 *  next eight, padded; bias contains what the input's zero point adds and is ordered and padded as
 *  requant is. y overlaps nothing, or begins where x does and has as many channels and no more
 * lines and points: eight channels are read ahead of what is written. */
void tinyrt_depthwise_conv2d_s8(const tinyrt_depthwise_conv2d_s8_params *p, const int8_t *x,
                                const int8_t *w, const int32_t *bias, int8_t *scratch, int8_t *y);

/** As tinyrt_depthwise_conv2d_s8, over weights of four bits: of each eight channels' weights the
 *  first half lies in low nibbles, the second half in high ones. scratch begins with room for eight
 *  channels' weights as bytes. */
void tinyrt_depthwise_conv2d_s4(const tinyrt_depthwise_conv2d_s8_params *p, const int8_t *x,
                                const int8_t *w, const int32_t *bias, int8_t *scratch, int8_t *y);

/** As tinyrt_depthwise_conv2d_s8, over weights of 16 bits from -255 to 255; tap_pairs says whether
 *  any two taps can be added so. */
void tinyrt_depthwise_conv2d_wide_s8(const tinyrt_depthwise_conv2d_s8_params *p, const int8_t *x,
                                     const int16_t *w, const int32_t *bias, int8_t *scratch,
                                     int8_t *y);

/** As those, for the output lines [first, end) of one image of at most eight channels: whole bands,
 *  but for the last one. Lines before are computed already: scratch has what they have read. Slices
 *  of an inference are made of them. */
typedef void tinyrt_depthwise_bands(const tinyrt_depthwise_conv2d_s8_params *p, int32_t first,
                                    int32_t end, const int8_t *x, const int8_t *w,
                                    const int32_t *bias, int8_t *scratch, int8_t *y);

tinyrt_depthwise_bands tinyrt_depthwise_bands_s8, tinyrt_depthwise_bands_s4;

#ifdef __cplusplus
}
#endif

#endif
