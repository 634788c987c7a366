#include "tinyrt_add.h"

#include "tinyrt_fixedpoint.h"

static int16_t squared_difference(const void *params, int32_t a, int32_t b) {
    const tinyrt_add_s8_params *p = params;
    const int32_t a_scaled = tinyrt_rescale(a, 0, p->left_shift, p->a_mult, p->a_shift);
    const int32_t b_scaled = tinyrt_rescale(b, 0, p->left_shift, p->b_mult, p->b_shift);
    const int32_t difference = a_scaled - b_scaled;
    const int32_t result = tinyrt_requant(difference * difference, p->y_mult, p->y_shift);
    return (int16_t)tinyrt_clamp(result, p->act_min, p->act_max);
}

void tinyrt_squared_difference_s16(const tinyrt_add_s8_params *p, const int16_t *a,
                                   const int16_t *b, int16_t *y) {
    tinyrt_for_each_pair_s16(&p->shape, squared_difference, p, a, b, y);
}
