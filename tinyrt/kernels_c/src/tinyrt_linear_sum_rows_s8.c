#include "tinyrt_sum.h"

#include "tinyrt_rows_of_pairs.h"
#include "tinyrt_sum_line.h"

static TINYRT_NOINLINE void row(const void *params, const int8_t *a, int32_t a_step,
                                const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    tinyrt_sum_line(*(const tinyrt_linear_sum *)params, a, a_step, b, b_step, count, y);
}

void tinyrt_linear_sum_rows_s8(const tinyrt_linear_sum_rows_s8_params *p, const int8_t *a,
                               const int8_t *b, int8_t *y) {
    tinyrt_for_each_row(&p->shape, row, &p->sum, a, b, y);
}
