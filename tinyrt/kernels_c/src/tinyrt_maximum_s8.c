#include "tinyrt_maximum.h"

static int8_t larger(const void *params, int32_t a, int32_t b) {
    (void)params;
    return (int8_t)((a > b) ? a : b);
}

void tinyrt_maximum_s8(const tinyrt_broadcast *shape, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_pair(shape, larger, NULL, a, b, y);
}
