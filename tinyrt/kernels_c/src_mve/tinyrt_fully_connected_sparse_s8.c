#include "tinyrt_fully_connected_mve.h"

#include "tinyrt_product_sparse_s8.h"

void tinyrt_fully_connected_sparse_s8(const tinyrt_fully_connected_s8_params *p, const int8_t *x,
                                      const int32_t *w, const int32_t *scales,
                                      int8_t *TINYRT_RESTRICT y) {
    const tinyrt_product_s8_params *product = &p->product;
    tinyrt_product_sparse_s8(product, x, product->length, p->rows, w, scales, y, product->c_out);
}
