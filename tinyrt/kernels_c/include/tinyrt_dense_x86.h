/** fully_connected on lanes of x86. */
#ifndef TINYRT_DENSE_X86_H
#define TINYRT_DENSE_X86_H

#include "tinyrt_product_x86.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = clamp(requant(bias + sum((x - x_zp) * w)) + y_zp). The rows of x are the product's pixels;
 *  size are its elements. scratch holds them and three more bytes. y overlaps nothing. */
void tinyrt_dense_x86(const tinyrt_product_x86_params *p, int32_t size, const int8_t *x,
                      uint8_t *scratch, int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
