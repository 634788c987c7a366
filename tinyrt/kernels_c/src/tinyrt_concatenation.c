#include "tinyrt_concatenation.h"

#include <string.h>

void tinyrt_concatenation(const tinyrt_concatenation_params *p, const void *const *x,
                          void *TINYRT_RESTRICT y) {
    int8_t *to = y;
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t i = 0; i < p->inputs; ++i) {
            const int32_t bytes = p->x_row_bytes[i];
            memcpy(to, (const int8_t *)x[i] + row * bytes, (size_t)bytes);
            to += bytes;
        }
    }
}
