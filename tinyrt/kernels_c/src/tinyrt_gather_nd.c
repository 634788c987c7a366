#include "tinyrt_gather_nd.h"

#include "tinyrt_copy.h"

void tinyrt_gather_nd(const tinyrt_gather_nd_params *p, const void *TINYRT_RESTRICT x,
                      const int32_t *TINYRT_RESTRICT places, void *TINYRT_RESTRICT y) {
    int8_t *to = y;
    for (int32_t i = 0; i < p->n; ++i) {
        const int8_t *from = x;
        for (int32_t axis = 0; axis < p->depth; ++axis) {
            int32_t at = (*places < 0) ? 0 : *places;
            at = (at < p->sizes[axis]) ? at : (p->sizes[axis] - 1);
            from += at * p->steps[axis];
            ++places;
        }
        to = tinyrt_copy(from, to + p->run, to);
    }
}
