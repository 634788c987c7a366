#include "tinyrt_batch_matmul.h"

#define TINYRT_OTHER int8_t
#include "tinyrt_matmul_s16_loop.h"

void tinyrt_batch_matmul_s16_s8(const tinyrt_batch_matmul_s8_params *p, const int16_t *a,
                                const int8_t *b, int16_t *TINYRT_RESTRICT y) {
    tinyrt_matmul_rows(p, a, b, y);
}
