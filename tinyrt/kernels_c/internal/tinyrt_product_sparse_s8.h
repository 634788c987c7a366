/** A matrix product with constant weights, many of them zero, for the kernels of cores with MVE. */
#ifndef TINYRT_PRODUCT_SPARSE_S8_H
#define TINYRT_PRODUCT_SPARSE_S8_H

#include "tinyrt_product_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As tinyrt_product_s8, over weights without blocks of zeros, see tinyrt_mve_kept.h.
 *  Requires: 4 divides p->c_out, and 16 p->length. */
void tinyrt_product_sparse_s8(const tinyrt_product_s8_params *p, const int8_t *x, int32_t x_step,
                              int32_t count, const int32_t *w, const int32_t *scales, int8_t *y,
                              int32_t y_step);

#ifdef __cplusplus
}
#endif

#endif
