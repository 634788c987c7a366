#include "tinyrt_concatenation.h"

#include <string.h>

void tinyrt_concatenation_s8(const tinyrt_concatenation_s8_params *p, const int8_t *const *x,
                             int8_t *TINYRT_RESTRICT y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t i = 0; i < p->inputs; ++i) {
            const int32_t bytes = p->x_row_bytes[i];
            memcpy(y, x[i] + row * bytes, (size_t)bytes);
            y += bytes;
        }
    }
}
