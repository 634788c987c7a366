#include "tinyrt_max_pool2d.h"

#define TINYRT_POOLED_START INT16_MIN
#define TINYRT_POOLED_NEXT(most, x) (((x) > (most)) ? (x) : (most))
#define TINYRT_POOLED_END(most, count) (most)
#include "tinyrt_pool_s16_loop.h"

void tinyrt_max_pool2d_s16(const tinyrt_pool2d_s8_params *p, const int16_t *x, int16_t *y) {
    tinyrt_pool_s16(p, x, y);
}
