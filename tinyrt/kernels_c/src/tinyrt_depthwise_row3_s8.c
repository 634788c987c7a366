#include "tinyrt_depthwise3x3.h"

#include "tinyrt_depthwise_row3_loop.h"

void tinyrt_depthwise_row3_s8(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x, int8_t *y) {
    tinyrt_depthwise_row3_loop(p, 8, x, y);
}
