/** One row of a matrix product with constant weights of four bits, for cores with MVE. */
#ifndef TINYRT_PRODUCT_ROW_S4_H
#define TINYRT_PRODUCT_ROW_S4_H

#include "tinyrt_product_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As tinyrt_product_row_s8; weights of two filters share a byte: 16 * w1 + w0. */
void tinyrt_product_row_s4(const tinyrt_product_s8_params *p, const tinyrt_product_scales *scales,
                           const int8_t *x, const int8_t *w, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
