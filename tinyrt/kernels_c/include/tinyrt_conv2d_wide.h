/** conv2d and fully_connected of int16 activations and int8 weights. */
#ifndef TINYRT_CONV2D_WIDE_H
#define TINYRT_CONV2D_WIDE_H

#include "tinyrt_requant_s16.h"

#ifdef __cplusplus
extern "C" {
#endif

/** taps: elements of a group's column, padded with zeros to an even number; for cores with vectors,
 * to a multiple of eight. direct: whether the column of an output is an input pixel as it lies.
 *  Requires: groups divides x.c and y.c. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t groups;
    int32_t taps;
    int32_t direct;
    tinyrt_requant_s16_params requant;
} tinyrt_conv2d_s16_params;

/** y = clamp(requant(bias + sum(x * w))).
 *  w holds every group's output channels four at a time, padded with zeros; of them, for every two
 *  taps eight bytes: tap 0 of channels 0 and 1, tap 1 of both, then those of channels 2 and 3. For
 *  cores with vectors, for every eight taps those of channel 0, of channel 1, and so on.
 *  bias may be NULL; column has room for taps elements, or is not used; y overlaps nothing. */
void tinyrt_conv2d_s16(const tinyrt_conv2d_s16_params *p, const int16_t *x, const int8_t *w,
                       const int64_t *bias, int16_t *column, int16_t *TINYRT_RESTRICT y);

/** Requires: groups divides x.c and y.c. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t groups;
    tinyrt_requant_s16_params requant;
} tinyrt_conv2d_plain_s16_params;

/** The same with weights that the model computes: w is (c_out, kernel_h, kernel_w, c_in / groups),
 *  as it lies. y overlaps nothing. */
void tinyrt_conv2d_plain_s16(const tinyrt_conv2d_plain_s16_params *p, const int16_t *x,
                             const int8_t *w, const int64_t *bias, int16_t *y);

/** As tinyrt_conv2d_s16_params, where accumulators fit 32 bits.
 *  Requires: groups is 1, or every group's output channels are a multiple of four. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t groups;
    int32_t taps;
    int32_t direct;
    tinyrt_raised_s16 raised;
} tinyrt_conv2d_raised_s16_params;

/** As tinyrt_conv2d_s16, for cores with vectors; bias is not NULL. */
void tinyrt_conv2d_raised_s16(const tinyrt_conv2d_raised_s16_params *p, const int16_t *x,
                              const int8_t *w, const int32_t *bias, int16_t *column,
                              int16_t *TINYRT_RESTRICT y);

/** The same for other cores: w holds every group's output channels as tinyrt_dot_row16 reads them,
 *  four at a time, and taps is what a column has, without zeros.
 *  Requires: sums are below 2^31, on cores without dual multiplies below 2^30. */
void tinyrt_conv2d_block_s16(const tinyrt_conv2d_raised_s16_params *p, const int16_t *x,
                             const int32_t *w, const int32_t *bias, int16_t *column,
                             int16_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
