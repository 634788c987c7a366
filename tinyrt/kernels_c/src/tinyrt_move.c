#include "tinyrt_move.h"

#include "tinyrt_copy.h"
#include "tinyrt_index.h"

void tinyrt_move(const tinyrt_move_params *p, const void *x, void *y) {
    const int32_t outer = p->rank - 2;
    const int32_t count = p->dims[outer + 1];
    const int32_t step = p->x_strides[outer + 1];
    const int32_t run = p->run;
    const int32_t lines = (outer < 0) ? 1 : p->dims[outer];
    const int32_t to_next = (outer < 0) ? 0 : (p->x_strides[outer] - (count * step));
    const int in_words = (TINYRT_COPY_BYTES == 4) && ((run % 4) == 0);
    int8_t *to = y;
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t at = 0;
    do {
        const int8_t *from = (const int8_t *)x + at;
        for (int32_t line = 0; line < lines; ++line) {
            if (run == 1) {
                for (const int8_t *const end = to + count; to != end; from += step) {
                    *to++ = *from;
                }
            } else if (in_words != 0) {
                for (int32_t i = 0; i < count; ++i) {
                    to = tinyrt_copy_steps(from, to + run, to);
                    from += step;
                }
            } else {
                for (int32_t i = 0; i < count; ++i) {
                    to = tinyrt_copy(from, to + run, to);
                    from += step;
                }
            }
            from += to_next;
        }
    } while (tinyrt_next_place(outer, p->dims, p->x_strides, index, &at) != 0);
}
