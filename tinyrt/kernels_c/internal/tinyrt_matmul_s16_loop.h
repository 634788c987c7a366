/** Products of int16 with TINYRT_OTHER, the second operand's type, where this is included. */
#ifndef TINYRT_MATMUL_S16_LOOP_H
#define TINYRT_MATMUL_S16_LOOP_H

#include "tinyrt_batch_matmul.h"

#include "tinyrt_index.h"
#include "tinyrt_requant_s16.h"

static int64_t tinyrt_matmul_dot(const tinyrt_batch_matmul_s8_params *p, const int16_t *a,
                                 const TINYRT_OTHER *b) {
    int64_t acc = 0;
    for (int32_t i = 0; i < p->inner; ++i) {
        acc += a[i * p->a_inner] * b[i * p->b_inner];
    }
    return acc;
}

static void tinyrt_matmul_rows(const tinyrt_batch_matmul_s8_params *p, const int16_t *a,
                               const TINYRT_OTHER *b, int16_t *TINYRT_RESTRICT y) {
    const int8_t right = (int8_t)p->y_shift;
    const tinyrt_requant_s16_params requant = {&p->y_mult, &right, 0, 1, INT16_MIN, INT16_MAX};
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int16_t *left = a + tinyrt_flat_index(p->rank, p->a_batch, index);
        const TINYRT_OTHER *other = b + tinyrt_flat_index(p->rank, p->b_batch, index);
        for (int32_t row = 0; row < p->rows; ++row) {
            for (int32_t column = 0; column < p->columns; ++column) {
                const int64_t acc =
                    tinyrt_matmul_dot(p, left + (row * p->a_row), other + (column * p->b_column));
                *y++ = tinyrt_requant_s16(&requant, 0, acc);
            }
        }
    } while (tinyrt_next_index(p->rank, p->batch, index) != 0);
}

#endif
