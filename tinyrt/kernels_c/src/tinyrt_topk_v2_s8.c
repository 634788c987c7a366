#include "tinyrt_topk_v2.h"

#define TINYRT_ELEMENT int8_t
#define TINYRT_ABOVE(a, b) ((a) > (b))
#include "tinyrt_topk_loop.h"

void tinyrt_topk_v2_s8(const tinyrt_topk_v2_params *p, const int8_t *x, int32_t *y) {
    tinyrt_topk_rows(p, x, y);
}
