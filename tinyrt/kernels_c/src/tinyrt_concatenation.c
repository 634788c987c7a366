#include "tinyrt_concatenation.h"

#include "tinyrt_copy.h"

void tinyrt_concatenation(const tinyrt_concatenation_params *p, const void *const *x, void *y) {
    int8_t *to = y;
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t i = 0; i < p->inputs; ++i) {
            const int32_t bytes = p->x_row_bytes[i];
            to = tinyrt_copy((const int8_t *)x[i] + (row * bytes), to + bytes, to);
        }
    }
}
