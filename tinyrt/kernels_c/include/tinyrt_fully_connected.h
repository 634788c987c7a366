/** fully_connected: a matrix product with weights as the model has them, constant or not. */
#ifndef TINYRT_FULLY_CONNECTED_H
#define TINYRT_FULLY_CONNECTED_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Requires: c_in * 32640 < 2^31. */
typedef struct {
    int32_t rows;
    int32_t c_in;
    int32_t c_out;
    int32_t x_zp;
    tinyrt_requant_params requant;
} tinyrt_fully_connected_plain_s8_params;

/** y = clamp(requant(bias + sum((x - x_zp) * w)) + y_zp).
 *  x is (rows, c_in), w (c_out, c_in), y (rows, c_out); bias may be NULL; y overlaps nothing. */
void tinyrt_fully_connected_plain_s8(const tinyrt_fully_connected_plain_s8_params *p,
                                     const int8_t *x, const int8_t *w, const int32_t *bias,
                                     int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
