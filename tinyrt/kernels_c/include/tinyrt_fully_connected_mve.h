/** fully_connected: a matrix product with constant weights, for cores with MVE. */
#ifndef TINYRT_FULLY_CONNECTED_MVE_H
#define TINYRT_FULLY_CONNECTED_MVE_H

#include "tinyrt_product_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Several rows. */
typedef struct {
    int32_t rows;
    tinyrt_product_s8_params product;
} tinyrt_fully_connected_s8_params;

/** One row; mult and shift have one entry for each channel, or one for all where step is 0. */
typedef struct {
    tinyrt_product_s8_params product;
    const int32_t *mult;
    const int8_t *shift;
    int32_t step;
} tinyrt_fully_connected_row_s8_params;

/** y = clamp(requant(bias + sum(x * w)) + y_zp); x is (rows, product.length), y (rows,
 *  product.c_out); w and scales are packed as the product wants them. y overlaps nothing. */
void tinyrt_fully_connected_s8(const tinyrt_fully_connected_s8_params *p, const int8_t *x,
                               const int8_t *w, const int32_t *scales, int8_t *TINYRT_RESTRICT y);

/** As tinyrt_fully_connected_s8, of one row, with a bias for each channel. */
void tinyrt_fully_connected_row_s8(const tinyrt_fully_connected_row_s8_params *p, const int8_t *x,
                                   const int8_t *w, const int32_t *bias, int8_t *TINYRT_RESTRICT y);

/** As these, over weights of four bits as tinyrt_product_s4 reads them. */
void tinyrt_fully_connected_s4(const tinyrt_fully_connected_s8_params *p, const int8_t *x,
                               const int8_t *w, const int32_t *scales, int8_t *TINYRT_RESTRICT y);
void tinyrt_fully_connected_row_s4(const tinyrt_fully_connected_row_s8_params *p, const int8_t *x,
                                   const int8_t *w, const int32_t *bias, int8_t *TINYRT_RESTRICT y);

/** As tinyrt_fully_connected_s8, of any number of rows, over weights without blocks of zeros, as
 *  tinyrt_conv2d_sparse_s8 reads them. */
void tinyrt_fully_connected_sparse_s8(const tinyrt_fully_connected_s8_params *p, const int8_t *x,
                                      const int32_t *w, const int32_t *scales,
                                      int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
