#include "tinyrt_dense_four.h"

#include "tinyrt_block_four_relu_s8.h"
#include "tinyrt_dense_four_loop.h"

void tinyrt_dense_four_part_relu_s8(const tinyrt_dense_s8_params *p, int32_t fills, int32_t c_out,
                                    const int8_t *x, int32_t *triples, int8_t *y) {
    tinyrt_dense_four_part(p, tinyrt_block_four_relu_s8, fills, c_out, x, triples, y);
}
