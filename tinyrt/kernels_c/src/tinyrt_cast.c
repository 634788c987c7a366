#include "tinyrt_cast.h"

void tinyrt_cast(const tinyrt_cast_params *p, tinyrt_conversion convert, const void *x,
                 void *TINYRT_RESTRICT y) {
    const int8_t *from = x;
    int8_t *to = y;
    for (int32_t i = 0; i < p->size; ++i) {
        convert(from, to);
        from += p->x_bytes;
        to += p->y_bytes;
    }
}
