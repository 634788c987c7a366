#include "tinyrt_slice_at.h"

void tinyrt_slice_at(const tinyrt_slice_at_params *p, const void *TINYRT_RESTRICT x,
                     const int32_t *TINYRT_RESTRICT begin, void *TINYRT_RESTRICT y) {
    const int8_t *from = x;
    for (int32_t axis = 0; axis < p->rank; ++axis) {
        const int32_t at = (begin[axis] < 0) ? 0 : begin[axis];
        from += ((at < p->most[axis]) ? at : p->most[axis]) * p->steps[axis];
    }
    tinyrt_move(&p->part, from, y);
}
