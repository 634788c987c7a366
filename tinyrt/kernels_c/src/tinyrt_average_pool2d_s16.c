#include "tinyrt_average_pool2d.h"

#define TINYRT_POOLED_START 0
#define TINYRT_POOLED_NEXT(sum, x) ((sum) + (x))
#define TINYRT_POOLED_END(sum, count)                                                              \
    ((((sum) > 0) ? ((sum) + ((count) / 2)) : ((sum) - ((count) / 2))) / (count))
#include "tinyrt_pool_s16_loop.h"

void tinyrt_average_pool2d_s16(const tinyrt_pool2d_s8_params *p, const int16_t *x, int16_t *y) {
    tinyrt_pool_s16(p, x, y);
}
