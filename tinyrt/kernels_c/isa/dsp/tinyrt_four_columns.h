/** Sums over rows and columns, four neighbouring channels at a time, two to a register. */
#ifndef TINYRT_FOUR_COLUMNS_H
#define TINYRT_FOUR_COLUMNS_H

#include "tinyrt_area.h"
#include "tinyrt_simd.h"

/** Elements whose sum fits 16 bits. */
#define TINYRT_SHORT_SUM 255

/** Adds the elements of an area of no more than that, of which x is the first. */
static TINYRT_NOINLINE void tinyrt_add_short_columns(const tinyrt_area *area, int32_t rows,
                                                     int32_t columns, const int8_t *x,
                                                     int32_t *sums) {
    const int32_t step = area->column_step;
    const int32_t row_step = area->row_step - (columns * step);
    uint32_t even = 0;
    uint32_t odd = 0;
    for (; rows > 0; --rows, x += row_step) {
        for (int32_t left = columns; left > 0; --left, x += step) {
            const uint32_t word = tinyrt_load_word(x);
            even = tinyrt_add_even_bytes(even, word);
            odd = tinyrt_add_odd_bytes(odd, word);
        }
    }
    sums[0] += tinyrt_low(even);
    sums[1] += tinyrt_low(odd);
    sums[2] += tinyrt_high(even);
    sums[3] += tinyrt_high(odd);
}

/** Adds the elements of an area, of which x is the first, to four channels' sums. */
static inline void tinyrt_add_four_columns(tinyrt_area area, const int8_t *x, int32_t *sums) {
    int32_t rows = area.rows;
    int32_t columns = area.columns;
    if ((rows * columns) > TINYRT_SHORT_SUM) {
        /* A part of a row at a time. */
        rows = 1;
        columns = (columns < TINYRT_SHORT_SUM) ? columns : TINYRT_SHORT_SUM;
    }
    for (int32_t row = 0; row < area.rows; row += rows) {
        for (int32_t left = area.columns; left > 0; left -= columns) {
            const int8_t *const first =
                x + (row * area.row_step) + (area.columns - left) * area.column_step;
            tinyrt_add_short_columns(&area, rows, (left < columns) ? left : columns, first, sums);
        }
    }
}

#endif
