#include "tinyrt_sum.h"

#include "tinyrt_sum_line.h"

void tinyrt_linear_sum_s8(const tinyrt_linear_sum_s8_params *p, const int8_t *a, const int8_t *b,
                          int8_t *y) {
    tinyrt_sum_line(p->sum, a, 1, b, 1, p->size, y);
}
