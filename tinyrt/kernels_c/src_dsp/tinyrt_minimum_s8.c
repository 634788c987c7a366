#include "tinyrt_minimum.h"

#include "tinyrt_rows_of_pairs.h"
#include "tinyrt_simd.h"

/** Four elements, or one that repeats. */
static uint32_t four(const int8_t *x, int32_t step) {
    return step == 0 ? tinyrt_four_times(*x) : tinyrt_load_word(x);
}

static void row(const void *params, const int8_t *a, int32_t a_step, const int8_t *b,
                int32_t b_step, int32_t count, int8_t *y) {
    (void)params;
    if ((a_step | b_step) <= 1) {
        for (; count >= 4; count -= 4, a += 4 * a_step, b += 4 * b_step, y += 4) {
            tinyrt_store_word(y, tinyrt_min_bytes(four(a, a_step), four(b, b_step)));
        }
    }
    for (; count > 0; --count, a += a_step, b += b_step) {
        *y++ = *a < *b ? *a : *b;
    }
}

void tinyrt_minimum_s8(const tinyrt_broadcast *shape, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_row(shape, row, NULL, a, b, y);
}
