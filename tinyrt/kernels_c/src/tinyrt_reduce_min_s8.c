#include "tinyrt_reduce.h"

static int32_t smaller(int32_t so_far, int32_t x) {
    return (x < so_far) ? x : so_far;
}

void tinyrt_reduce_min_s8(const tinyrt_reduction *p, const int8_t *x, int8_t *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t at = 0;
    do {
        *y++ = (int8_t)tinyrt_fold_s8(p, smaller, INT8_MAX, x + at);
    } while (tinyrt_next_kept(p, index, &at) != 0);
}
