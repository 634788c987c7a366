#include "tinyrt_dynamic_update_slice.h"

#include "tinyrt_copy_all.h"
#include "tinyrt_index.h"

void tinyrt_dynamic_update_slice(const tinyrt_dynamic_update_slice_params *p,
                                 const void *TINYRT_RESTRICT x, const void *TINYRT_RESTRICT part,
                                 const int32_t *TINYRT_RESTRICT begin, void *TINYRT_RESTRICT y) {
    const tinyrt_move_params *walk = &p->part;
    const int32_t outer = walk->rank - 1;
    const int8_t *from = part;
    int8_t *first = y;
    int32_t index[TINYRT_MAX_RANK] = {0};
    tinyrt_copy_all(x, (size_t)p->bytes, y);
    for (int32_t axis = 0; axis < p->rank; ++axis) {
        const int32_t at = (begin[axis] < 0) ? 0 : begin[axis];
        first += ((at < p->most[axis]) ? at : p->most[axis]) * p->steps[axis];
    }
    do {
        int8_t *to = first + tinyrt_flat_index(outer, walk->x_strides, index);
        for (int32_t i = 0; i < walk->dims[outer]; ++i) {
            (void)tinyrt_copy(from, to + walk->run, to);
            from += walk->run;
            to += walk->x_strides[outer];
        }
    } while (tinyrt_next_index(outer, walk->dims, index) != 0);
}
