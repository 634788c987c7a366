/** One row of a matrix product with constant weights, for the kernels of cores with MVE. */
#ifndef TINYRT_PRODUCT_ROW_S8_H
#define TINYRT_PRODUCT_ROW_S8_H

#include "tinyrt_product_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y[c] = clamp(requant(bias[c] + sum(x[k] * w[c][k])) + y_zp), for c in [0, c_out). y overlaps
 *  nothing. */
void tinyrt_product_row_s8(const tinyrt_product_s8_params *p, const tinyrt_product_scales *scales,
                           const int8_t *x, const int8_t *w, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
