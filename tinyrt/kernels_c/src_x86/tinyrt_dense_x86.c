#include "tinyrt_dense_x86.h"

#include "tinyrt_border.h"

void tinyrt_dense_x86(const tinyrt_product_x86_params *p, int32_t size, const int8_t *x,
                      uint8_t *scratch, int8_t *TINYRT_RESTRICT y) {
    tinyrt_flip(x, scratch, size, 1);
    tinyrt_product_x86(p, scratch, p->w, p->quant, y);
}
