#include "tinyrt_batch_matmul.h"

#include "tinyrt_matmul_s8_loop.h"

static int8_t *one_row(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                       int8_t *y) {
    for (int32_t column = 0; column < p->columns; column++) {
        *y++ = tinyrt_matmul_one(p, a, b);
        b += p->b_column;
    }
    return y;
}

void tinyrt_batch_matmul_s8(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                            const int8_t *b, int8_t *TINYRT_RESTRICT y) {
    tinyrt_matmul_s8(p, one_row, a, b, y);
}
