#include "tinyrt_move.h"

#include "tinyrt_copy.h"
#include "tinyrt_index.h"

void tinyrt_move(const tinyrt_move_params *p, const void *x, void *y) {
    const int32_t outer = p->rank - 1;
    const int32_t count = p->dims[outer];
    const int32_t step = p->x_strides[outer];
    const int32_t run = p->run;
    int8_t *to = y;
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int8_t *from = (const int8_t *)x + tinyrt_flat_index(outer, p->x_strides, index);
        if (run == 1) {
            for (const int8_t *const end = to + count; to != end; from += step) {
                *to++ = *from;
            }
        } else {
            for (int32_t i = 0; i < count; ++i) {
                to = tinyrt_copy(from, to + run, to);
                from += step;
            }
        }
    } while (tinyrt_next_index(outer, p->dims, index) != 0);
}
