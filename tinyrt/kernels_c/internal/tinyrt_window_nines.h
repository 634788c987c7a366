/** Windows of three rows of nine bytes, as a first layer of 3 x 3 pixels in colour has them, on
 * cores that load words from anywhere: they are widened where they lie. */
#ifndef TINYRT_WINDOW_NINES_H
#define TINYRT_WINDOW_NINES_H

#include "tinyrt_window_block.h"

static inline void tinyrt_widen_word(uint32_t word, tinyrt_taps_word *column) {
    column[0] = tinyrt_even_bytes(word);
    column[2] = tinyrt_odd_bytes(word);
}

/** Writes three runs of nine bytes, which lie row bytes apart, one behind the other to one of two
 *  columns, and a zero. Loads stand side by side, where cores overlap them. */
static TINYRT_NOINLINE void tinyrt_widen_nines(const int8_t *x, int32_t row,
                                               tinyrt_taps_word *column) {
    const int8_t *const second = x + row;
    const int8_t *const third = second + row;
    const uint32_t first = tinyrt_load_word(x);
    const uint32_t next = tinyrt_load_word(x + 4);
    const uint32_t end = (uint8_t)x[8];
    const uint32_t begin = tinyrt_load_word(second - 1);
    const uint32_t middle = tinyrt_load_word(second + 3);
    const uint32_t second_end = tinyrt_load_word(second + 5);
    const uint32_t third_begin = tinyrt_load_word(third - 2);
    const uint32_t third_middle = tinyrt_load_word(third + 2);
    const uint32_t last = tinyrt_load_word(third + 5);
    tinyrt_widen_word(first, column);
    tinyrt_widen_word(next, column + 4);
    tinyrt_widen_word((begin & ~UINT32_C(0xFF)) | end, column + 8);
    tinyrt_widen_word(middle, column + 12);
    tinyrt_widen_word(tinyrt_high_halves(second_end, third_begin), column + 16);
    tinyrt_widen_word(third_middle, column + 20);
    column[24] = tinyrt_odd_bytes(last);
    column[26] = tinyrt_even_bytes(last >> 16);
}

/** Outputs of a row from ox on, in pairs, while their windows and the next one are such and lie
 *  inside. Returns where it goes on, which is before the row's end. */
static TINYRT_NOINLINE int32_t tinyrt_nines_of_row(const tinyrt_window_block_s8_params *p,
                                                   tinyrt_two_blocks_product two, int32_t oy,
                                                   int32_t ox, const int8_t *x,
                                                   tinyrt_taps_word *columns, int8_t *y) {
    const int32_t y0 = (oy * p->window.stride_h) - p->window.pad_top;
    const int32_t x0 = (ox * p->window.stride_w) - p->window.pad_left;
    const int32_t row = p->x.w * p->x.c;
    const int32_t step = p->window.stride_w * p->x.c;
    const int32_t last = row - 9 - (2 * step);
    /* Three rows of 28 padded taps have nine each. */
    if ((p->block.taps == 28) && (p->window.kernel_h == 3) && ((x0 | y0) >= 0) &&
        ((y0 + 3) <= p->x.h) && ((x0 * p->x.c) <= last)) {
        const int8_t *const line = x + (y0 * row);
        const int8_t *from = line + (x0 * p->x.c);
        do {
            tinyrt_widen_nines(from, row, columns);
            from += step;
            tinyrt_widen_nines(from, row, columns + 1);
            from += step;
            two(&p->block, columns, y);
            y += 2 * p->block.c_out;
            ox += 2;
        } while (from <= (line + last));
    }
    return ox;
}

#endif
