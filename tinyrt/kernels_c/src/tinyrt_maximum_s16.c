#include "tinyrt_maximum.h"

static int16_t larger(const void *params, int32_t a, int32_t b) {
    (void)params;
    return (int16_t)((a > b) ? a : b);
}

void tinyrt_maximum_s16(const tinyrt_broadcast *shape, const int16_t *a, const int16_t *b,
                        int16_t *y) {
    tinyrt_for_each_pair_s16(shape, larger, NULL, a, b, y);
}
