/** A matrix product with constant weights, for the kernels of cores with MVE. */
#ifndef TINYRT_PRODUCT_S8_H
#define TINYRT_PRODUCT_S8_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What all patches share. Of every four filters, the weights lie interleaved: 16 bytes of each,
 *  the first block filled up with zeros in front; filters are added so that their number is a
 *  multiple of four. bias contains what the input's zero point adds.
 *  only_positive: act_min >= y_zp and no exponent is above 0.
 *  Requires: 1 <= length < 2^20. */
typedef struct {
    int32_t length;
    int32_t c_out;
    int32_t only_positive;
    tinyrt_requant_params requant;
} tinyrt_product_s8_params;

/** y[i * y_step + c] = clamp(requant(bias[c] + sum(x[i * x_step + k] * w[c][k])) + y_zp), for i in
 *  [0, count) and c in [0, c_out). y overlaps nothing. */
void tinyrt_product_s8(const tinyrt_product_s8_params *p, const int8_t *x, int32_t x_step,
                       int32_t count, const int8_t *w, const int32_t *bias, int8_t *y,
                       int32_t y_step);

#ifdef __cplusplus
}
#endif

#endif
