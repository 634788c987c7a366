#include "tinyrt_batch_matmul.h"

#include "tinyrt_matmul_s8_loop.h"
#include "tinyrt_mve.h"

/** Columns of b that lie beside one another and are taken at once: four vectors of sums. */
#define COLUMNS 16

/** Four neighbours of a row of outputs; base is what all rows add to these columns. */
static inline void finish_four(const tinyrt_batch_matmul_s8_params *p, int32x4_t products,
                               int32_t a_sum, int32x4_t base, mve_pred16_t lanes, int8_t *y) {
    const int32_t left = (p->y_shift > 0) ? p->y_shift : 0;
    const int32x4_t right = vdupq_n_s32(p->y_shift - left);
    const int32x4_t acc = vaddq_n_s32(vaddq_s32(products, base), -p->b_zp * a_sum);
    const int32x4_t high = vqrdmulhq_n_s32(vshlq_r_s32(acc, left), p->y_mult);
    int32x4_t value = vqaddq_n_s32(tinyrt_mve_rounding_shift_right(high, right), p->y_zp);
    value = vmaxq_s32(vminq_s32(value, vdupq_n_s32(INT8_MAX)), vdupq_n_s32(INT8_MIN));
    vstrbq_p_s32(y, value, lanes);
}

/** What all rows add to columns with these sums: inner * a_zp * b_zp - a_zp * sum. */
static inline int32x4_t base_of(const tinyrt_batch_matmul_s8_params *p, int32x4_t b_sums) {
    return vmlaq_n_s32(vdupq_n_s32(p->inner * p->a_zp * p->b_zp), b_sums, -p->a_zp);
}

/** The sum of neighbours. */
static int32_t sum_of(const int8_t *x, int32_t count) {
    int32_t sum = 0;
    for (; count > 0; count -= TINYRT_VECTOR, x += TINYRT_VECTOR) {
        sum = vaddvaq_s8(sum, vldrbq_z_s8(x, vctp8q((uint32_t)count)));
    }
    return sum;
}

/** The sum of a row of a, whose elements lie anywhere. */
static int32_t row_sum(const tinyrt_batch_matmul_s8_params *p, const int8_t *a) {
    int32_t sum = 0;
    if (p->a_inner == 1) {
        return sum_of(a, p->inner);
    }
    for (int32_t left = p->inner; left > 0; --left, a += p->a_inner) {
        sum += *a;
    }
    return sum;
}

/** Outputs of one row and four columns, both of neighbours; column is where each begins in b. */
static void four_dots(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                      const int32_t *column, int32x4_t base, mve_pred16_t lanes, int8_t *y) {
    const int8_t *b0 = b;
    const int8_t *b1 = b + column[1];
    const int8_t *b2 = b + column[2];
    const int8_t *b3 = b + column[3];
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, a_sum = 0;
    for (int32_t left = p->inner / TINYRT_VECTOR; left > 0; --left) {
        const int8x16_t x = vldrbq_s8(a);
        a_sum = vaddvaq_s8(a_sum, x);
        s0 = vmladavaq_s8(s0, x, vldrbq_s8(b0));
        s1 = vmladavaq_s8(s1, x, vldrbq_s8(b1));
        s2 = vmladavaq_s8(s2, x, vldrbq_s8(b2));
        s3 = vmladavaq_s8(s3, x, vldrbq_s8(b3));
        a += TINYRT_VECTOR;
        b0 += TINYRT_VECTOR;
        b1 += TINYRT_VECTOR;
        b2 += TINYRT_VECTOR;
        b3 += TINYRT_VECTOR;
    }
    const uint32_t rest = (uint32_t)p->inner % TINYRT_VECTOR;
    if (rest > 0) {
        const mve_pred16_t some = vctp8q(rest);
        const int8x16_t x = vldrbq_z_s8(a, some);
        a_sum = vaddvaq_s8(a_sum, x);
        s0 = vmladavaq_s8(s0, x, vldrbq_z_s8(b0, some));
        s1 = vmladavaq_s8(s1, x, vldrbq_z_s8(b1, some));
        s2 = vmladavaq_s8(s2, x, vldrbq_z_s8(b2, some));
        s3 = vmladavaq_s8(s3, x, vldrbq_z_s8(b3, some));
    }
    const int32_t sums[4] = {s0, s1, s2, s3};
    finish_four(p, vldrwq_s32(sums), a_sum, base, lanes, y);
}

/** A matrix of rows and columns whose elements are neighbours, four columns after the other. */
static void by_dots(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                    int8_t *y) {
    for (int32_t c = 0; c < p->columns; c += 4, b += 4 * p->b_column) {
        const int32_t last = ((p->columns - c) < 4) ? (p->columns - c - 1) : 3;
        int32_t column[4];
        int32_t b_sum[4];
        for (int32_t i = 0; i < 4; ++i) {
            column[i] = ((i < last) ? i : last) * p->b_column;
            b_sum[i] = sum_of(b + column[i], p->inner);
        }
        const int32x4_t base = base_of(p, vldrwq_s32(b_sum));
        const mve_pred16_t lanes = vctp32q((uint32_t)(p->columns - c));
        for (int32_t i = 0; i < p->rows; ++i) {
            four_dots(p, a + (i * p->a_row), b, column, base, lanes, y + (i * p->columns) + c);
        }
    }
}

/** Sixteen columns that lie beside one another, of all rows. */
static void sixteen_columns(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                            const int8_t *b, int8_t *y) {
    int32x4_t base[4];
    for (int32_t quad = 0; quad < 4; ++quad) {
        const int8_t *at = b + (4 * quad);
        int32x4_t sums = vdupq_n_s32(0);
        for (int32_t left = p->inner; left > 0; --left, at += p->b_inner) {
            sums = vaddq_s32(sums, vldrbq_s32(at));
        }
        base[quad] = base_of(p, sums);
    }
    for (int32_t i = 0; i < p->rows; ++i, a += p->a_row, y += p->columns) {
        int32x4_t s0 = vdupq_n_s32(0);
        int32x4_t s1 = s0, s2 = s0, s3 = s0;
        const int8_t *x = a;
        const int8_t *at = b;
        for (int32_t left = p->inner; left > 0; --left) {
            const int32_t factor = *x;
            s0 = vmlaq_n_s32(s0, vldrbq_s32(at), factor);
            s1 = vmlaq_n_s32(s1, vldrbq_s32(at + 4), factor);
            s2 = vmlaq_n_s32(s2, vldrbq_s32(at + 8), factor);
            s3 = vmlaq_n_s32(s3, vldrbq_s32(at + 12), factor);
            x += p->a_inner;
            at += p->b_inner;
        }
        const mve_pred16_t lanes = vctp32q(4);
        const int32_t a_sum = row_sum(p, a);
        finish_four(p, s0, a_sum, base[0], lanes, y);
        finish_four(p, s1, a_sum, base[1], lanes, y + 4);
        finish_four(p, s2, a_sum, base[2], lanes, y + 8);
        finish_four(p, s3, a_sum, base[3], lanes, y + 12);
    }
}

/** Up to four columns that lie anywhere, of all rows. */
static void some_columns(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                         mve_pred16_t lanes, int8_t *y) {
    const uint32x4_t at = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)p->b_column);
    for (int32_t i = 0; i < p->rows; ++i, a += p->a_row, y += p->columns) {
        int32x4_t products = vdupq_n_s32(0);
        const int8_t *x = a;
        const int8_t *row = b;
        for (int32_t left = p->inner; left > 0; --left, x += p->a_inner, row += p->b_inner) {
            const int32x4_t factors = vldrbq_gather_offset_z_s32(row, at, lanes);
            products = vmlaq_n_s32(products, vsubq_n_s32(factors, p->b_zp), *x - p->a_zp);
        }
        finish_four(p, products, 0, vdupq_n_s32(0), lanes, y);
    }
}

/** A matrix whose elements lie anywhere. */
static void by_columns(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                       int8_t *y) {
    int32_t c = 0;
    if (p->b_column == 1) {
        for (; (p->columns - c) >= COLUMNS; c += COLUMNS) {
            sixteen_columns(p, a, b + c, y + c);
        }
    }
    for (; c < p->columns; c += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(p->columns - c));
        some_columns(p, a, b + (c * p->b_column), lanes, y + c);
    }
}

void tinyrt_batch_matmul_s8(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                            const int8_t *b, int8_t *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t a_at = 0;
    int32_t b_at = 0;
    do {
        if ((p->a_inner == 1) && (p->b_inner == 1)) {
            by_dots(p, a + a_at, b + b_at, y);
        } else {
            by_columns(p, a + a_at, b + b_at, y);
        }
        y += p->rows * p->columns;
    } while (tinyrt_next_matrix(p, index, &a_at, &b_at) != 0);
}
