#include "tinyrt_mul.h"

#include "tinyrt_fixedpoint.h"

static int16_t mul(const void *params, int32_t a, int32_t b) {
    const tinyrt_mul_s8_params *p = params;
    return (int16_t)tinyrt_clamp(tinyrt_requant(a * b, p->y_mult, p->y_shift), p->act_min,
                                 p->act_max);
}

void tinyrt_mul_s16(const tinyrt_mul_s8_params *p, const int16_t *a, const int16_t *b, int16_t *y) {
    tinyrt_for_each_pair_s16(&p->shape, mul, p, a, b, y);
}
