/** Dense layers of one row over packed weights. */
#ifndef TINYRT_DENSE_ROW_H
#define TINYRT_DENSE_ROW_H

#include "tinyrt_block.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Scalar cores take eight channels at a time: w holds for every tap two words, those of two
 *  blocks of four channels, of which there is an even number; taps are not padded. For
 *  tinyrt_dense_row_s8 there, a word is four weights without a sign (tinyrt_dot_bytes.h), and init
 *  holds for every block the three sums that begin with the channels' first values
 *  (tinyrt_row_bytes.h). */
typedef struct {
    int32_t c_in;
    tinyrt_block_s8_params block;
} tinyrt_dense_row_s8_params;

/** y (c_out) = requant(bias + sum((x - x_zp) * w)) + y_zp; x and y must not overlap.
 *  column has room for one single column where activations are read four at a time and c_in is
 *  not a multiple of four; else it is not used. */
void tinyrt_dense_row_s8(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                         tinyrt_taps_word *column, int8_t *y);

/** The same on scalar cores, of some of the channels: column keeps the sum of the activations from
 *  one part to the next. The first part fills it. */
void tinyrt_dense_row_part_s8(const tinyrt_dense_row_s8_params *p, int32_t fills, const int8_t *x,
                              tinyrt_taps_word *column, int8_t *y);

/** As tinyrt_dense_row_s8 with four channels at a time, over weights packed for
 *  tinyrt_block_s4. */
void tinyrt_dense_row_s4(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                         tinyrt_taps_word *column, int8_t *y);

/** As tinyrt_dense_row_s8, over weights and first values packed for tinyrt_block_sparse_s8: on
 * scalar cores with runs of any number of taps, and for eight channels together. */
void tinyrt_dense_row_sparse_s8(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                                tinyrt_taps_word *column, int8_t *y);

/** As tinyrt_dense_row_s8, over constants packed for tinyrt_block_relu_s8. */
void tinyrt_dense_row_relu_s8(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                              tinyrt_taps_word *column, int8_t *y);

/** As tinyrt_dense_row_s8 and tinyrt_dense_row_relu_s8, over constants packed for either of these.
 */
void tinyrt_dense_row_any_s8(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                             tinyrt_taps_word *column, int8_t *y);

/** As tinyrt_dense_row_s8 for sums that channels cannot share, and any number of blocks: init holds
 *  plain first values, shifts are those of tinyrt_requant_any. Scalar cores take eight channels at
 *  a time while more than four are left; w holds one word for every tap of the last four. */
void tinyrt_dense_row_long_s8(const tinyrt_dense_row_s8_params *p, const int8_t *x, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
