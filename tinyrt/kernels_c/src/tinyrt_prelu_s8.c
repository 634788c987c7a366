#include "tinyrt_prelu.h"

#include "tinyrt_fixedpoint.h"

static int8_t prelu(const void *params, int32_t x, int32_t alpha) {
    const tinyrt_prelu_s8_params *p = params;
    const int32_t centred = x - p->x_zp;
    const int32_t result =
        (centred >= 0) ? tinyrt_requant(centred, p->pos_mult, p->pos_shift)
                       : tinyrt_requant(centred * (alpha - p->alpha_zp), p->neg_mult, p->neg_shift);
    return tinyrt_to_s8(result, p->y_zp, INT8_MIN, INT8_MAX);
}

void tinyrt_prelu_s8(const tinyrt_prelu_s8_params *p, const int8_t *x, const int8_t *alpha,
                     int8_t *y) {
    tinyrt_for_each_pair(&p->shape, prelu, p, x, alpha, y);
}
