#include "tinyrt_depthwise3x3.h"

#include "tinyrt_depthwise3x3_loop.h"

void tinyrt_depthwise3x3_s4(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x, int8_t *saved,
                            int8_t *y) {
    tinyrt_depthwise3x3_loop(p, 4, x, saved, y);
}
