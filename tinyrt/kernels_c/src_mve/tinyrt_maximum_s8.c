#include "tinyrt_maximum.h"

#define TINYRT_EXTREMES vmaxq_s8
#define TINYRT_WINS(a, b) ((a) > (b))
#include "tinyrt_extreme_mve_loop.h"

void tinyrt_maximum_s8(const tinyrt_broadcast *shape, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_row(shape, tinyrt_extreme_row, NULL, a, b, y);
}
