/** Convolutions over packed weights with groups or dilation. */
#ifndef TINYRT_GROUP_BLOCK_H
#define TINYRT_GROUP_BLOCK_H

#include "tinyrt_block.h"
#include "tinyrt_more_taps.h"

#ifdef __cplusplus
extern "C" {
#endif

/** block is the first group's, with block.taps = kernel_h * kernel_w * c_in, padded; the steps are
 *  those from one group's constants to the next one's, in elements. c_in is the number of a group's
 *  input channels. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t x_zp;
    int32_t groups;
    int32_t c_in;
    int32_t w_step;
    int32_t init_step;
    int32_t requant_step;
    tinyrt_block_s8_params block;
} tinyrt_group_block_s8_params;

/** A layer with sums behind each group's taps, the same for all groups; layer.block.taps is the
 *  number of all of them, padded. */
typedef struct {
    tinyrt_group_block_s8_params layer;
    tinyrt_more_taps more;
} tinyrt_group_more_s8_params;

/** y = requant(bias + sum((x - x_zp) * w)) + y_zp.
 *  columns has room for two columns, patch for block.taps bytes, and with several groups for
 *  two pixels of y behind them; y may overlap x only where every row is written behind the rows
 *  still read. */
void tinyrt_group_block_s8(const tinyrt_group_block_s8_params *p, const int8_t *x,
                           tinyrt_taps_word *columns, int8_t *patch, int8_t *y);

/** As tinyrt_group_block_s8, for two outputs at a time always: patch has room for two pixels of y
 *  also with one group, and also if there is one output only. */
void tinyrt_group_more_s8(const tinyrt_group_more_s8_params *p, const int8_t *x,
                          tinyrt_taps_word *columns, int8_t *patch, int8_t *y);

/** As tinyrt_group_block_s8, with constants for tinyrt_block_long_s8. */
void tinyrt_group_block_long_s8(const tinyrt_group_block_s8_params *p, const int8_t *x,
                                tinyrt_taps_word *columns, int8_t *patch, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
