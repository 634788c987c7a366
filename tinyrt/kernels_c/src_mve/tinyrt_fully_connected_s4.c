#include "tinyrt_fully_connected_mve.h"

#include "tinyrt_product_s4.h"

void tinyrt_fully_connected_s4(const tinyrt_fully_connected_s8_params *p, const int8_t *x,
                               const int8_t *w, const int32_t *scales, int8_t *TINYRT_RESTRICT y) {
    const tinyrt_product_s8_params *product = &p->product;
    tinyrt_product_s4(product, x, product->length, p->rows, w, scales, y, product->c_out);
}
