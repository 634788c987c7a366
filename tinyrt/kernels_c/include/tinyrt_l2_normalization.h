/** Rows divided by their length. */
#ifndef TINYRT_L2_NORMALIZATION_H
#define TINYRT_L2_NORMALIZATION_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = (x - x_zp) / sqrt(sum((x - x_zp)^2)) in steps of 1 / 128, for rows of c elements, at most
 *  33000. early_bits of the 7 bits go up before the multiplication: 0, or 7 as on uint8. y may be
 *  x. */
void tinyrt_l2_normalization_s8(int32_t rows, int32_t c, int32_t x_zp, int32_t early_bits,
                                const int8_t *x, int8_t *y);

/** y = x / sqrt(sum(x^2)), a length of at least 1e-6. y may be x. */
void tinyrt_l2_normalization_f32(int32_t rows, int32_t c, const float *x, float *y);

#ifdef __cplusplus
}
#endif

#endif
