#include "tinyrt_minimum.h"

#define TINYRT_FOUR_EXTREMES tinyrt_min_bytes
#define TINYRT_WINS(a, b) ((a) < (b))
#include "tinyrt_extreme_loop.h"

void tinyrt_minimum_s8(const tinyrt_broadcast *shape, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_row(shape, tinyrt_extreme_row, NULL, a, b, y);
}
