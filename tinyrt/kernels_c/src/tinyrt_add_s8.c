#include "tinyrt_add.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_index.h"

static int8_t add(const tinyrt_add_s8_params *p, int32_t a, int32_t b) {
    const int32_t a_scaled =
        tinyrt_requant(tinyrt_shift_left(a - p->a_zp, p->left_shift), p->a_mult, p->a_shift);
    const int32_t b_scaled =
        tinyrt_requant(tinyrt_shift_left(b - p->b_zp, p->left_shift), p->b_mult, p->b_shift);
    const int32_t sum = tinyrt_requant(a_scaled + b_scaled, p->y_mult, p->y_shift);
    return (int8_t)tinyrt_clamp(sum + p->y_zp, p->act_min, p->act_max);
}

void tinyrt_add_s8(const tinyrt_add_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    const tinyrt_broadcast *shape = &p->shape;
    const int32_t outer = shape->rank - 1;
    const int32_t a_step = shape->a_strides[outer];
    const int32_t b_step = shape->b_strides[outer];
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int8_t *a_row = a + tinyrt_flat_index(outer, shape->a_strides, index);
        const int8_t *b_row = b + tinyrt_flat_index(outer, shape->b_strides, index);
        for (int32_t i = 0; i < shape->dims[outer]; ++i) {
            *y++ = add(p, a_row[i * a_step], b_row[i * b_step]);
        }
    } while (tinyrt_next_index(outer, shape->dims, index));
}
