#include "tinyrt_topk_v2.h"

#define TINYRT_ELEMENT float
#define TINYRT_ABOVE(a, b) ((a) > (b) || ((b) != (b) && (a) == (a)))
#include "tinyrt_topk_loop.h"

void tinyrt_topk_v2_f32(const tinyrt_topk_v2_params *p, const float *x, int32_t *y) {
    tinyrt_topk_rows(p, x, y);
}
