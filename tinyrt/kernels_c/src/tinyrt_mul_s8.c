#include "tinyrt_mul.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_index.h"

static int8_t mul(const tinyrt_mul_s8_params *p, int32_t a, int32_t b) {
    const int32_t product = tinyrt_requant((a - p->a_zp) * (b - p->b_zp), p->y_mult, p->y_shift);
    return (int8_t)tinyrt_clamp(product + p->y_zp, p->act_min, p->act_max);
}

void tinyrt_mul_s8(const tinyrt_mul_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    const tinyrt_broadcast *shape = &p->shape;
    const int32_t outer = shape->rank - 1;
    const int32_t a_step = shape->a_strides[outer];
    const int32_t b_step = shape->b_strides[outer];
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int8_t *a_row = a + tinyrt_flat_index(outer, shape->a_strides, index);
        const int8_t *b_row = b + tinyrt_flat_index(outer, shape->b_strides, index);
        for (int32_t i = 0; i < shape->dims[outer]; ++i) {
            *y++ = mul(p, a_row[i * a_step], b_row[i * b_step]);
        }
    } while (tinyrt_next_index(outer, shape->dims, index));
}
