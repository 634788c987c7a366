#include "tinyrt_dense_four.h"

#include "tinyrt_block_four_raised_s8.h"
#include "tinyrt_dense_four_loop.h"

void tinyrt_dense_four_raised_s8(const tinyrt_dense_s8_params *p, const int8_t *x, int32_t *triples,
                                 int8_t *y) {
    tinyrt_dense_four_loop(p, tinyrt_block_four_raised_s8, x, triples, y);
}
