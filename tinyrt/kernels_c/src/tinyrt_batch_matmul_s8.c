#include "tinyrt_batch_matmul.h"

#include "tinyrt_matmul_s8_loop.h"

static void one_matrix(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                       int8_t *y) {
    for (int32_t column = 0; column < p->columns; column++) {
        tinyrt_matmul_column(p, a, b + (column * p->b_column), y + column);
    }
}

void tinyrt_batch_matmul_s8(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                            const int8_t *b, int8_t *TINYRT_RESTRICT y) {
    tinyrt_matmul_s8(p, one_matrix, a, b, y);
}
