/** A matrix product with constant weights of four bits, for the kernels of cores with MVE. */
#ifndef TINYRT_PRODUCT_S4_H
#define TINYRT_PRODUCT_S4_H

#include "tinyrt_product_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As tinyrt_product_s8; weights of two filters share a byte: 16 * w1 + w0. */
void tinyrt_product_s4(const tinyrt_product_s8_params *p, const int8_t *x, int32_t x_step,
                       int32_t count, const int8_t *w, const int32_t *scales, int8_t *y,
                       int32_t y_step);

#ifdef __cplusplus
}
#endif

#endif
