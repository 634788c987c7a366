#include "tinyrt_batch_matmul.h"

#include "tinyrt_fixedpoint.h"

static int32_t dot(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b) {
    const int32_t a_step = p->a_inner;
    const int32_t b_step = p->b_inner;
    const int32_t a_zp = p->a_zp;
    const int32_t b_zp = p->b_zp;
    int32_t acc = 0;
    for (int32_t i = p->inner; i > 0; i--) {
        acc += (*a - a_zp) * (*b - b_zp);
        a += a_step;
        b += b_step;
    }
    return acc;
}

/** Moves both operands to the next matrix of the batch; whether there is one. */
static int next_matrix(const tinyrt_batch_matmul_s8_params *p, int32_t *index, int32_t *a_at,
                       int32_t *b_at) {
    for (int32_t d = p->rank - 1; d >= 0; d--) {
        *a_at += p->a_batch[d];
        *b_at += p->b_batch[d];
        index[d]++;
        if (index[d] < p->batch[d]) {
            return 1;
        }
        *a_at -= p->a_batch[d] * p->batch[d];
        *b_at -= p->b_batch[d] * p->batch[d];
        index[d] = 0;
    }
    return 0;
}

void tinyrt_batch_matmul_s8(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                            const int8_t *b, int8_t *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t a_at = 0;
    int32_t b_at = 0;
    do {
        for (int32_t row = 0; row < p->rows; row++) {
            const int8_t *x = a + a_at + (row * p->a_row);
            for (int32_t column = 0; column < p->columns; column++) {
                const int32_t acc = dot(p, x, b + b_at + (column * p->b_column));
                const int32_t scaled = tinyrt_requant(acc, p->y_mult, p->y_shift);
                *y++ = tinyrt_to_s8(scaled, p->y_zp, INT8_MIN, INT8_MAX);
            }
        }
    } while (next_matrix(p, index, &a_at, &b_at) != 0);
}
