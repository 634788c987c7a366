/** Products of matrices of bytes, one by one. */
#ifndef TINYRT_MATMUL_S8_LOOP_H
#define TINYRT_MATMUL_S8_LOOP_H

#include "tinyrt_batch_matmul.h"
#include "tinyrt_fixedpoint.h"

static inline int8_t tinyrt_matmul_output(const tinyrt_batch_matmul_s8_params *p, int32_t acc) {
    return tinyrt_to_s8(tinyrt_requant(acc, p->y_mult, p->y_shift), p->y_zp, INT8_MIN, INT8_MAX);
}

/** One output, whose elements lie anywhere. */
static inline int8_t tinyrt_matmul_one(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                                       const int8_t *b) {
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
    return tinyrt_matmul_output(p, acc);
}

/** A column of outputs. */
static inline void tinyrt_matmul_column(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                                        const int8_t *b, int8_t *y) {
    for (int32_t left = p->rows; left > 0; left--) {
        *y = tinyrt_matmul_one(p, a, b);
        a += p->a_row;
        y += p->columns;
    }
}

/** Moves both operands to the next matrix of the batch; whether there is one. */
static int tinyrt_next_matrix(const tinyrt_batch_matmul_s8_params *p, int32_t *index, int32_t *a_at,
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

/** Computes one matrix of outputs. */
typedef void (*tinyrt_matmul_matrix)(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                                     const int8_t *b, int8_t *y);

static inline void tinyrt_matmul_s8(const tinyrt_batch_matmul_s8_params *p,
                                    tinyrt_matmul_matrix matrix, const int8_t *a, const int8_t *b,
                                    int8_t *y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t a_at = 0;
    int32_t b_at = 0;
    do {
        matrix(p, a + a_at, b + b_at, y);
        y += p->rows * p->columns;
    } while (tinyrt_next_matrix(p, index, &a_at, &b_at) != 0);
}

#endif
