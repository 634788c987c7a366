#include "tinyrt_add.h"

#include "tinyrt_fixedpoint.h"

static int8_t sub(const void *params, int32_t a, int32_t b) {
    const tinyrt_add_s8_params *p = params;
    const int32_t a_scaled = tinyrt_rescale(a, p->a_zp, p->left_shift, p->a_mult, p->a_shift);
    const int32_t b_scaled = tinyrt_rescale(b, p->b_zp, p->left_shift, p->b_mult, p->b_shift);
    const int32_t result = tinyrt_requant(a_scaled - b_scaled, p->y_mult, p->y_shift);
    return tinyrt_to_s8(result, p->y_zp, p->act_min, p->act_max);
}

void tinyrt_sub_s8(const tinyrt_add_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_pair(&p->shape, sub, p, a, b, y);
}
