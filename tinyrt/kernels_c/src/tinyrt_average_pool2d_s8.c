#include "tinyrt_average_pool2d.h"

#define TINYRT_ELEMENT int8_t
#include "tinyrt_average_loop.h"

void tinyrt_average_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y) {
    tinyrt_pool2d(p, tinyrt_average, x, y);
}
