#include "tinyrt_gather.h"

#include "tinyrt_copy.h"

void tinyrt_gather(const tinyrt_gather_params *p, const void *x, void *y) {
    const int8_t *image = x;
    int8_t *to = y;
    for (int32_t n = 0; n < p->n; ++n) {
        for (int32_t i = 0; i < p->rows; ++i) {
            for (int32_t j = 0; j < p->columns; ++j) {
                to = tinyrt_copy(image + p->row_at[i] + p->column_at[j], to + p->run, to);
            }
        }
        image += p->x_bytes;
    }
}
