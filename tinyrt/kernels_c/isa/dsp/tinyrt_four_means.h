/** The means of an area, of four neighbouring channels at a time. */
#ifndef TINYRT_FOUR_MEANS_H
#define TINYRT_FOUR_MEANS_H

#include "tinyrt_four_largest.h"
#include "tinyrt_mean_of.h"

/** y = clamp(sum * reciprocal / 2^24) of four channels' areas, of which x is the first element.
 *  Requires: 255 elements at most, whose sum fits 16 bits. */
static inline void tinyrt_four_means(tinyrt_area area, int32_t reciprocal, tinyrt_four_limit low,
                                     tinyrt_four_limit high, const int8_t *x, int8_t *y) {
    uint32_t even = 0;
    uint32_t odd = 0;
    for (; area.rows > 0; --area.rows, x += area.row_step) {
        const int8_t *tap = x;
        for (int32_t left = area.columns; left > 0; --left, tap += area.column_step) {
            const uint32_t word = tinyrt_load_word(tap);
            even = tinyrt_add_even_bytes(even, word);
            odd = tinyrt_add_odd_bytes(odd, word);
        }
    }
    /* Means with eight bits of fraction. */
    const int32_t half = 1 << 7;
    const int32_t first = tinyrt_add_scaled_low(reciprocal, even, half);
    const int32_t second = tinyrt_add_scaled_low(reciprocal, odd, half);
    const int32_t third = tinyrt_add_scaled_high(reciprocal, even, half);
    const int32_t fourth = tinyrt_add_scaled_high(reciprocal, odd, half);
    const uint32_t evens = tinyrt_low_halves((uint32_t)first, (uint32_t)third);
    const uint32_t odds = tinyrt_low_halves((uint32_t)second, (uint32_t)fourth);
    const uint32_t means = ((evens >> 8) & 0x00FF00FFU) | (odds & 0xFF00FF00U);
    tinyrt_store_word(y, tinyrt_min_bytes(tinyrt_max_bytes(means, low), high));
}

#endif
