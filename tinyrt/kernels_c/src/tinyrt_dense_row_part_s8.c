#include "tinyrt_dense_row.h"

#include "tinyrt_row_bytes.h"

void tinyrt_dense_row_part_s8(const tinyrt_dense_row_s8_params *p, int32_t fills, const int8_t *x,
                              tinyrt_taps_word *column, int8_t *y) {
    if (fills != 0) {
        *column = (tinyrt_taps_word)tinyrt_row_sum(x, p->c_in);
    }
    tinyrt_row_of_bytes(p, x, (int32_t)*column, y);
}
