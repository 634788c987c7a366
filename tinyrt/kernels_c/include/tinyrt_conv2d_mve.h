/** conv2d: 2-D convolution, also grouped and dilated, for cores with MVE. */
#ifndef TINYRT_CONV2D_MVE_H
#define TINYRT_CONV2D_MVE_H

#include "tinyrt_product_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Lines and points are rows and columns, or columns and rows: outputs are computed line by line,
 *  two points at once. In x, y and window, h is about lines and w about points; steps are in bytes.
 *  at_once: how many points of a line are computed from one copy of what they read, or with one
 *  pass over the weights where the window is one element. It is 1 where dilation_w is not.
 *  Requires: groups divides x.c and y.c; product has the size of one window and the output channels
 *  of one group; scratch has kernel_h * x.c / groups bytes for each point that is read at once, and
 *  is NULL where nothing need be copied: the window is one element, and y overlaps nothing. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    int32_t x_line_step;
    int32_t x_point_step;
    int32_t y_line_step;
    int32_t y_point_step;
    tinyrt_window window;
    int32_t groups;
    int32_t x_zp;
    int32_t at_once;
    tinyrt_product_s8_params product;
} tinyrt_conv2d_s8_params;

/** y = clamp(requant(bias + sum(x * w)) + y_zp); w and scales are packed as the product wants them,
 *  one group behind the other, a window point by point; elements outside of x are x_zp. y may
 *  overlap what has been read: lines from the front, with one group. */
void tinyrt_conv2d_s8(const tinyrt_conv2d_s8_params *p, const int8_t *x, const int8_t *w,
                      const int32_t *scales, int8_t *scratch, int8_t *y);

/** As tinyrt_conv2d_s8, over weights of four bits as tinyrt_product_s4 reads them. */
void tinyrt_conv2d_s4(const tinyrt_conv2d_s8_params *p, const int8_t *x, const int8_t *w,
                      const int32_t *scales, int8_t *scratch, int8_t *y);

/** As tinyrt_conv2d_s8, of one group, over weights without blocks of zeros. A block is 16 taps of
 *  four filters, and 16 divides the taps, 4 the filters. Words of four filters: how many blocks are
 *  kept behind the first one, and where the first and the last one begin, in bytes; then of each,
 * how many bytes behind it the next one begins (of the last one, where the first one does), and its
 *  weights, 16 of each filter. */
void tinyrt_conv2d_sparse_s8(const tinyrt_conv2d_s8_params *p, const int8_t *x, const int32_t *w,
                             const int32_t *scales, int8_t *scratch, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
