#include "tinyrt_reduce.h"

static int32_t larger(int32_t so_far, int32_t x) {
    return (x > so_far) ? x : so_far;
}

void tinyrt_reduce_max_s16(const tinyrt_reduction *p, const int16_t *x,
                           int16_t *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t at = 0;
    do {
        *y++ = (int16_t)tinyrt_fold_s16(p, larger, INT16_MIN, x + at);
    } while (tinyrt_next_kept(p, index, &at) != 0);
}
