/** Depthwise convolutions of one row of outputs with filters of 3 x 3, as the function
 * TINYRT_KERNEL over weights of TINYRT_WEIGHT_BITS, which are set where this is included. */
#ifndef TINYRT_DEPTHWISE_ROW3_LOOP_H
#define TINYRT_DEPTHWISE_ROW3_LOOP_H

#include "tinyrt_depthwise3x3.h"
#include "tinyrt_filter3.h"

#if TINYRT_WEIGHT_BITS == 4
#define TINYRT_LOAD_FILTER3(w, c, shift) tinyrt_load_filter3_s4(w, c, tinyrt_factor_of(shift))
#define TINYRT_RIGHT(shift) tinyrt_right_of(shift)
#else
#define TINYRT_LOAD_FILTER3(w, c, shift) tinyrt_load_filter3_s8(w, c)
#define TINYRT_RIGHT(shift) (shift)
#endif

static inline tinyrt_column3 column_at(const int8_t *x, int32_t row) {
    return tinyrt_load_column3(*x, x[row], x[2 * row]);
}

/** One channel along the row. Everything it needs is in locals: setting out is half of the work
 *  where rows are short. */
static inline void one_channel(const tinyrt_depthwise3x3_s8_params *p, int32_t c, const int8_t *x,
                               int8_t *y) {
    const tinyrt_column3 border = tinyrt_load_column3(p->x_zp, p->x_zp, p->x_zp);
    const int32_t constants = c & -(p->requant_step >> 2);
    const int32_t mult = p->mult[constants];
    const int32_t shift = TINYRT_RIGHT(p->shift[constants]);
    const int32_t rounding = tinyrt_rounding_of(shift, 2 * p->y_zp + 1);
    const int32_t init = 2 * p->init[c];
    const int32_t step = p->along.x_step;
    const int32_t row = p->across.x_step;
    const int32_t pad = p->along.pad;
    int32_t left = p->along.y_count;
    tinyrt_filter3 f = TINYRT_LOAD_FILTER3(p->w, c, p->shift[constants]);
    tinyrt_double3(&f);
    int32_t one = tinyrt_add_column3(&f, 0, pad != 0 ? border : column_at(x, row), init);
    x += pad != 0 ? 0 : step;
    if (p->stride == 1) {
        tinyrt_column3 column = column_at(x, row);
        int32_t two = tinyrt_add_column3(&f, 1, column, one);
        one = tinyrt_add_column3(&f, 0, column, init);
        const int32_t inside = p->along.x_count - 2 + pad;
        left -= inside;
        for (const int8_t *const end = x + inside * step; x != end;) {
            x += step;
            column = column_at(x, row);
            const int32_t sum = tinyrt_add_column3(&f, 2, column, two);
            two = tinyrt_add_column3(&f, 1, column, one);
            one = tinyrt_add_column3(&f, 0, column, init);
            *y = tinyrt_requant_rounded(sum, mult, shift, rounding);
            y += step;
        }
        one = two;
    } else {
        const int32_t inside = (p->along.x_count + pad - 1) >> 1;
        left -= inside;
        for (const int8_t *const end = x + 2 * inside * step; x != end;) {
            const int32_t two = tinyrt_add_column3(&f, 1, column_at(x, row), one);
            const tinyrt_column3 column = column_at(x + step, row);
            x += 2 * step;
            const int32_t sum = tinyrt_add_column3(&f, 2, column, two);
            one = tinyrt_add_column3(&f, 0, column, init);
            *y = tinyrt_requant_rounded(sum, mult, shift, rounding);
            y += step;
        }
        if (left != 0) {
            one = tinyrt_add_column3(&f, 1, column_at(x, row), one);
        }
    }
    if (left != 0) {
        const int32_t sum = tinyrt_add_column3(&f, 2, border, one);
        *y = tinyrt_requant_rounded(sum, mult, shift, rounding);
    }
}

void TINYRT_KERNEL(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x, int8_t *y) {
    for (int32_t c = 0; c < p->along.x_step; ++c) {
        one_channel(p, c, x + c, y + c);
    }
}

#endif
