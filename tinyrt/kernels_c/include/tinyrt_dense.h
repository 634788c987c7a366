/** Dense layers and pointwise convolutions over packed weights. */
#ifndef TINYRT_DENSE_H
#define TINYRT_DENSE_H

#include "tinyrt_block.h"

#ifdef __cplusplus
extern "C" {
#endif

/** x is (rows, c_in); block.taps is c_in, padded. */
typedef struct {
    int32_t rows;
    int32_t c_in;
    tinyrt_block_s8_params block;
} tinyrt_dense_s8_params;

/** y (rows, c_out) = requant(bias + sum((x - x_zp) * w)) + y_zp.
 *  columns has room for min(rows, 2) columns, the only one being single; y may overlap x only where
 * it is written behind what is still read. */
void tinyrt_dense_s8(const tinyrt_dense_s8_params *p, const int8_t *x, tinyrt_taps_word *columns,
                     int8_t *y);

/** As tinyrt_dense_s8, over weights packed for tinyrt_block_s4. */
void tinyrt_dense_s4(const tinyrt_dense_s8_params *p, const int8_t *x, tinyrt_taps_word *columns,
                     int8_t *y);

/** As tinyrt_dense_s8, over weights packed for tinyrt_block_sparse_s8. */
void tinyrt_dense_sparse_s8(const tinyrt_dense_s8_params *p, const int8_t *x,
                            tinyrt_taps_word *columns, int8_t *y);

/** As tinyrt_dense_s8, over constants packed for tinyrt_block_relu_s8. */
void tinyrt_dense_relu_s8(const tinyrt_dense_s8_params *p, const int8_t *x,
                          tinyrt_taps_word *columns, int8_t *y);

/** As tinyrt_dense_s8 and tinyrt_dense_relu_s8, over constants packed for either of these. */
void tinyrt_dense_any_s8(const tinyrt_dense_s8_params *p, const int8_t *x,
                         tinyrt_taps_word *columns, int8_t *y);

/** Some channels of one or two rows: block.c_out of c_out, at most 64, whose outputs y points to.
 *  columns are filled only where fills is not 0; else they hold what the last call for these rows
 *  has left there. Slices of an inference are made of them. */
typedef void tinyrt_dense_some(const tinyrt_dense_s8_params *p, int32_t fills, int32_t c_out,
                               const int8_t *x, tinyrt_taps_word *columns, int8_t *y);

tinyrt_dense_some tinyrt_dense_part_s8, tinyrt_dense_part_s4, tinyrt_dense_part_sparse_s8,
    tinyrt_dense_part_relu_s8, tinyrt_dense_part_any_s8;

#ifdef __cplusplus
}
#endif

#endif
