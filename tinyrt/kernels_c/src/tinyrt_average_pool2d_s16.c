#include "tinyrt_average_pool2d.h"

#define TINYRT_ELEMENT int16_t
#include "tinyrt_average_loop.h"

void tinyrt_average_pool2d_s16(const tinyrt_pool2d_s8_params *p, const int16_t *x, int16_t *y) {
    tinyrt_pool2d_s16(p, tinyrt_average, x, y);
}
