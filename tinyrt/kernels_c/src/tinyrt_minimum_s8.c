#include "tinyrt_minimum.h"

static int8_t smaller(const void *params, int32_t a, int32_t b) {
    (void)params;
    return (int8_t)((a < b) ? a : b);
}

void tinyrt_minimum_s8(const tinyrt_broadcast *shape, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_pair(shape, smaller, NULL, a, b, y);
}
