#include "tinyrt_softmax.h"

#include "tinyrt_softmax_table.h"

static void softmax_row(const int32_t *table, const int8_t *x, int32_t c, int16_t *y) {
    const int8_t *const end = x + c;
    const int32_t most = tinyrt_largest_s8(x, end);
    const tinyrt_reciprocal sum = tinyrt_reciprocal_of_row(table, most, x, end);
    const int32_t exponent = sum.exponent - 8;
    const uint32_t half = UINT32_C(1) << (exponent - 1);
    for (; x != end; ++x, ++y) {
        const int32_t share = tinyrt_rounding_doubling_high_mul(sum.scale, table[most - *x]);
        const int32_t value = (int32_t)(((uint32_t)share + half) >> exponent) + INT16_MIN;
        *y = (int16_t)((value > INT16_MAX) ? INT16_MAX : value);
    }
}

void tinyrt_softmax_table_s8_s16(const tinyrt_softmax_table_s8_params *p, const int8_t *x,
                                 int16_t *TINYRT_RESTRICT y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        softmax_row(p->exponentials, x + (row * p->c), p->c, y + (row * p->c));
    }
}
