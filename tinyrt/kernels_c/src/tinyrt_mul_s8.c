#include "tinyrt_mul.h"

#include "tinyrt_fixedpoint.h"

static int8_t mul(const void *params, int32_t a, int32_t b) {
    const tinyrt_mul_s8_params *p = params;
    const int32_t product = tinyrt_requant((a - p->a_zp) * (b - p->b_zp), p->y_mult, p->y_shift);
    return tinyrt_to_s8(product, p->y_zp, p->act_min, p->act_max);
}

void tinyrt_mul_s8(const tinyrt_mul_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_pair(&p->shape, mul, p, a, b, y);
}
