/** A row of pairs' extremes, four at a time, where this is included: TINYRT_FOUR_EXTREMES of words,
 *  TINYRT_WINS whether the first of two elements is taken. */
#ifndef TINYRT_EXTREME_LOOP_H
#define TINYRT_EXTREME_LOOP_H

#include "tinyrt_rows_of_pairs.h"
#include "tinyrt_simd.h"

/** Four elements, or one that repeats. */
static uint32_t tinyrt_four_of(const int8_t *x, int32_t step) {
    return (step == 0) ? tinyrt_four_times(*x) : tinyrt_load_word(x);
}

static void tinyrt_extreme_row(const void *params, const int8_t *a, int32_t a_step, const int8_t *b,
                               int32_t b_step, int32_t count, int8_t *y) {
    (void)params;
    if ((a_step | b_step) <= 1) {
        for (; count >= 4; count -= 4, a += 4 * a_step, b += 4 * b_step, y += 4) {
            tinyrt_store_word(
                y, TINYRT_FOUR_EXTREMES(tinyrt_four_of(a, a_step), tinyrt_four_of(b, b_step)));
        }
    }
    for (; count > 0; --count, a += a_step, b += b_step) {
        *y++ = TINYRT_WINS(*a, *b) ? *a : *b;
    }
}

#endif
