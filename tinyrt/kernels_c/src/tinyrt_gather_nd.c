#include "tinyrt_gather_nd.h"

#define TINYRT_NEAREST tinyrt_nearest
#include "tinyrt_gather_nd_loop.h"

void tinyrt_gather_nd(const tinyrt_gather_nd_params *p, const void *TINYRT_RESTRICT x,
                      const int32_t *TINYRT_RESTRICT places, void *TINYRT_RESTRICT y) {
    tinyrt_pick_parts(p, x, places, y);
}
