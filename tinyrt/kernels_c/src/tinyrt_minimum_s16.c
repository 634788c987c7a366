#include "tinyrt_minimum.h"

static int16_t smaller(const void *params, int32_t a, int32_t b) {
    (void)params;
    return (int16_t)((a < b) ? a : b);
}

void tinyrt_minimum_s16(const tinyrt_broadcast *shape, const int16_t *a, const int16_t *b,
                        int16_t *y) {
    tinyrt_for_each_pair_s16(shape, smaller, NULL, a, b, y);
}
