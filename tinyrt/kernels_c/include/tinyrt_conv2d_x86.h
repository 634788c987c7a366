/** conv2d on lanes of x86. */
#ifndef TINYRT_CONV2D_X86_H
#define TINYRT_CONV2D_X86_H

#include "tinyrt_border.h"
#include "tinyrt_product_x86.h"

#ifdef __cplusplus
extern "C" {
#endif

/** product: of one image and one group; the others' weights follow. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_border border;
    int32_t groups;
    tinyrt_product_x86_params product;
} tinyrt_conv2d_x86_params;

/** y = clamp(requant(bias + sum((x - x_zp) * w)) + y_zp). scratch holds an image with its border
 *  and three more bytes. y overlaps nothing. */
void tinyrt_conv2d_x86(const tinyrt_conv2d_x86_params *p, const int8_t *x, uint8_t *scratch,
                       int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
