#include "tinyrt_add.h"

#include "tinyrt_sums_s16.h"

static TINYRT_NOINLINE void row(const void *params, const int16_t *a, int32_t a_step,
                                const int16_t *b, int32_t b_step, int32_t count, int16_t *y) {
    tinyrt_sums_row_s16(params, 1, a, a_step, b, b_step, count, y);
}

void tinyrt_add_s16(const tinyrt_add_s8_params *p, const int16_t *a, const int16_t *b, int16_t *y) {
    tinyrt_for_each_row_s16(&p->shape, row, p, a, b, y);
}
