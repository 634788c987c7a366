#include "tinyrt_softmax.h"

#include "tinyrt_softmax_table.h"

static void softmax_row(const int32_t *table, const int8_t *x, int32_t c, int8_t *y) {
    const int8_t *const end = x + c;
    const int32_t most = tinyrt_largest_s8(x, end);
    const tinyrt_reciprocal sum = tinyrt_reciprocal_of_row(table, most, x, end);
    for (; x != end; ++x, ++y) {
        const int32_t share = tinyrt_rounding_doubling_high_mul(sum.scale, table[most - *x]);
        *y = tinyrt_softmax_output(share, sum.exponent);
    }
}

void tinyrt_softmax_table_s8(const tinyrt_softmax_table_s8_params *p, const int8_t *x, int8_t *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        softmax_row(p->exponentials, x + (row * p->c), p->c, y + (row * p->c));
    }
}
