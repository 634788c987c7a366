#include "tinyrt_conv2d_x86.h"

#include "tinyrt_tile.h"

void tinyrt_conv2d_x86(const tinyrt_conv2d_x86_params *p, const int8_t *x, uint8_t *scratch,
                       int8_t *TINYRT_RESTRICT y) {
    const tinyrt_product_x86_params *const product = &p->product;
    const int32_t vectors = (product->channels + TINYRT_LANES - 1) / TINYRT_LANES;
    for (int32_t n = 0; n < p->x.n; ++n) {
        tinyrt_pad_flip(&p->x, &p->border, 1, x, scratch);
        for (int32_t g = 0; g < p->groups; ++g) {
            const int32_t first = g * vectors;
            tinyrt_product_x86(product, scratch + g * (p->x.c / p->groups),
                               product->w + first * product->step_count * TINYRT_LANE_BYTES,
                               product->quant + first * TINYRT_QUANT, y + g * product->channels);
        }
        x += p->x.h * p->x.w * p->x.c;
        y += product->pixels * product->stride;
    }
}
