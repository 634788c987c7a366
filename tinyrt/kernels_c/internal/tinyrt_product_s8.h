/** A matrix product with constant weights, for the kernels of cores with MVE. */
#ifndef TINYRT_PRODUCT_S8_H
#define TINYRT_PRODUCT_S8_H

#include "tinyrt_product_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y[i * y_step + c] = clamp(requant(bias[c] + sum(x[i * x_step + k] * w[c][k])) + y_zp), for i in
 *  [0, count) and c in [0, c_out). scales has nine words for every four channels: biases,
 * mantissas, and a word whose bytes are the shifts. y overlaps nothing. */
void tinyrt_product_s8(const tinyrt_product_s8_params *p, const int8_t *x, int32_t x_step,
                       int32_t count, const int8_t *w, const int32_t *scales, int8_t *y,
                       int32_t y_step);

#ifdef __cplusplus
}
#endif

#endif
