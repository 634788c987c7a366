#include "tinyrt_softmax.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_reciprocal.h"

static int32_t largest(const int8_t *x, const int8_t *end) {
    int32_t most = INT8_MIN;
    for (; x != end; ++x) {
        most = *x > most ? *x : most;
    }
    return most;
}

/** Sums of at most 2^19 each. */
static uint32_t sum_of(const int32_t *table, int32_t most, const int8_t *x, const int8_t *end) {
    uint32_t sum = 0;
    for (; x != end; ++x) {
        sum += ((uint32_t)table[most - *x] + (UINT32_C(1) << (TINYRT_SUM_BITS - 1))) >>
               TINYRT_SUM_BITS;
    }
    return sum;
}

static void softmax_row(const int32_t *table, const int8_t *x, int32_t c, int8_t *y) {
    const int8_t *const end = x + c;
    const int32_t most = largest(x, end);
    const tinyrt_reciprocal sum = tinyrt_reciprocal_of(sum_of(table, most, x, end));
    for (; x != end; ++x, ++y) {
        const int32_t share = tinyrt_rounding_doubling_high_mul(sum.scale, table[most - *x]);
        *y = tinyrt_softmax_output(share, sum.exponent);
    }
}

void tinyrt_softmax_table_s8(const tinyrt_softmax_table_s8_params *p, const int8_t *x, int8_t *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        softmax_row(p->exponentials, x + row * p->c, p->c, y + row * p->c);
    }
}
