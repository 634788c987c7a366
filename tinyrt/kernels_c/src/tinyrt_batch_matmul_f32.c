#include "tinyrt_batch_matmul.h"

#include "tinyrt_float.h"
#include "tinyrt_float_tile.h"
#include "tinyrt_index.h"

#include <string.h>

/** Rows and columns at once. */
#define FOUR 4

static float dot(const tinyrt_batch_matmul_f32_params *p, const float *a, const float *b) {
    float sum = 0.0F;
    for (int32_t i = 0; i < p->inner; ++i) {
        sum = tinyrt_mlaf(sum, a[i * p->a_inner], b[i * p->b_inner]);
    }
    return sum;
}

/** One row of outputs; the last four columns overlap others where fewer are left. */
static void one_row(const tinyrt_batch_matmul_f32_params *p, const float *a, const float *b,
                    float *y) {
    for (int32_t next = 0; next < p->columns; next += FOUR) {
        const int32_t column = (next + FOUR <= p->columns) ? next : (p->columns - FOUR);
        tinyrt_row_product(a, p->a_inner, b + (column * p->b_column), p->b_column, p->b_inner,
                           p->inner, y + column);
    }
}

/** Four rows of outputs likewise. */
static void four_rows(const tinyrt_batch_matmul_f32_params *p, const float *a, const float *b,
                      float *y) {
    for (int32_t next = 0; next < p->columns; next += FOUR) {
        const int32_t column = (next + FOUR <= p->columns) ? next : (p->columns - FOUR);
        float sum[FOUR * FOUR];
        tinyrt_tile_product(a, p->a_row, p->a_inner, b + (column * p->b_column), p->b_column,
                            p->b_inner, p->inner, sum);
        for (int32_t row = 0; row < FOUR; ++row) {
            (void)memcpy(y + (row * p->columns) + column, sum + (row * FOUR), FOUR * sizeof *sum);
        }
    }
}

/** One product of matrices; the last four rows overlap others where fewer are left. */
static void product(const tinyrt_batch_matmul_f32_params *p, const float *a, const float *b,
                    float *y) {
    if (p->columns < FOUR) {
        for (int32_t row = 0; row < p->rows; ++row) {
            for (int32_t column = 0; column < p->columns; ++column) {
                *y++ = dot(p, a + (row * p->a_row), b + (column * p->b_column));
            }
        }
    } else if ((TINYRT_TILE_ROWS == 1) || (p->rows < FOUR)) {
        for (int32_t row = 0; row < p->rows; ++row) {
            one_row(p, a + (row * p->a_row), b, y + (row * p->columns));
        }
    } else {
        for (int32_t next = 0; next < p->rows; next += FOUR) {
            const int32_t row = (next + FOUR <= p->rows) ? next : (p->rows - FOUR);
            four_rows(p, a + (row * p->a_row), b, y + (row * p->columns));
        }
    }
}

void tinyrt_batch_matmul_f32(const tinyrt_batch_matmul_f32_params *p, const float *a,
                             const float *b, float *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        product(p, a + tinyrt_flat_index(p->rank, p->a_batch, index),
                b + tinyrt_flat_index(p->rank, p->b_batch, index), y);
        y += p->rows * p->columns;
    } while (tinyrt_next_index(p->rank, p->batch, index) != 0);
}
