#include "tinyrt_batch_matmul.h"

#include "tinyrt_float.h"
#include "tinyrt_index.h"

static float dot(const tinyrt_batch_matmul_f32_params *p, const float *a, const float *b) {
    float sum = 0.0F;
    for (int32_t i = 0; i < p->inner; ++i) {
        sum = tinyrt_mlaf(sum, a[i * p->a_inner], b[i * p->b_inner]);
    }
    return sum;
}

void tinyrt_batch_matmul_f32(const tinyrt_batch_matmul_f32_params *p, const float *a,
                             const float *b, float *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const float *left = a + tinyrt_flat_index(p->rank, p->a_batch, index);
        const float *other = b + tinyrt_flat_index(p->rank, p->b_batch, index);
        for (int32_t row = 0; row < p->rows; ++row) {
            for (int32_t column = 0; column < p->columns; ++column) {
                *y++ = dot(p, left + (row * p->a_row), other + (column * p->b_column));
            }
        }
    } while (tinyrt_next_index(p->rank, p->batch, index) != 0);
}
