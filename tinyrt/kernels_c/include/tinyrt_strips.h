/** Convolutions and dense layers for RISC-V cores with vectors: output channels come in strips, as
 *  many as the core's registers hold. */
#ifndef TINYRT_STRIPS_H
#define TINYRT_STRIPS_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sums of products of up to four pixels, for all channels.
 *  w is (rows * run, c_out), and y (pixels, c_out), of rows that lie stride apart; bias, mult and
 *  shift are (c_out), shift positive to the left. The taps of a pixel are rows of run bytes, gap
 *  bytes apart.
 *  Requires: rows, run >= 1. The products of two taps that lie side by side in a row, and of a
 *  single last one, fit int16 together; sums fit int32. */
typedef struct {
    int32_t rows;
    int32_t run;
    int32_t gap;
    int32_t c_out;
    int32_t stride;
    const int32_t *bias;
    const int32_t *mult;
    const int8_t *shift;
    int32_t y_zp;
    int32_t act_min;
    int32_t act_max;
} tinyrt_strips;

typedef struct {
    int32_t rows;
    tinyrt_strips strips;
} tinyrt_dense_strips_s8_params;

/** y = clamp(requant(bias + x * w) + y_zp) for rows x of strips.run bytes. y overlaps x only
 *  where every four of its rows are written behind the four that are read. */
void tinyrt_dense_strips_s8(const tinyrt_dense_strips_s8_params *p, const int8_t *x,
                            const int8_t *w, int8_t *y);

/** in_place tells whether windows that lie in the image are read there; then strips is theirs.
 *  places is for depthwise convolutions. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t x_zp;
    int32_t in_place;
    tinyrt_strips strips;
    const int32_t *places;
} tinyrt_conv2d_strips_s8_params;

/** A convolution: w is (kernel_h * kernel_w * x.c, y.c), bias has -x_zp * sum(w) in it. scratch has
 *  four windows of kernel_h * kernel_w * x.c bytes. y overlaps x only where every row is written
 *  behind the rows still read. */
void tinyrt_conv2d_strips_s8(const tinyrt_conv2d_strips_s8_params *p, const int8_t *x,
                             const int8_t *w, int8_t *scratch, int8_t *y);

/** A depthwise convolution of strips.rows taps: w is (taps, c). places has where each lies, from
 *  the window's first one, in an image and then in a copy. scratch has a window. strips.run and gap
 *  mean nothing.
 *  Requires: as for tinyrt_strips; x.c == y.c. */
void tinyrt_depthwise_strips_s8(const tinyrt_conv2d_strips_s8_params *p, const int8_t *x,
                                const int8_t *w, int8_t *scratch, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
