/** Convolutions of rows as products of columns, whatever the weights' format. */
#ifndef TINYRT_WINDOW_ROWS_LOOP_H
#define TINYRT_WINDOW_ROWS_LOOP_H

#include "tinyrt_copy.h"
#include "tinyrt_window_rows.h"

/** Widens what the window that begins at byte first of its rows reads; with no column, only copies
 *  it to patch. */
static TINYRT_NOINLINE void tinyrt_rows_column(const tinyrt_window_rows_s8_params *p,
                                               const int8_t *x, int32_t first,
                                               tinyrt_taps_word *column, int8_t *patch) {
    const int32_t run = p->run;
    const int32_t taps = p->kernel_h * run;
    const int32_t behind = p->row_bytes - first;
    const int32_t begin = (first < 0) ? -first : 0;
    const int32_t end = (behind < run) ? behind : run;
    x += first;
    if ((column != NULL) && (begin == 0) && (end == run) && ((run % TINYRT_WIDEN_MULTIPLE) == 0)) {
        for (int32_t ky = p->kernel_h; ky > 0; --ky) {
            column = tinyrt_widen(x, run, column);
            x += p->row_bytes;
        }
        tinyrt_pad_column(taps, column);
        return;
    }
    /* What is behind the taps meets weights of zero, whatever it is. */
    const int32_t padded = (taps + 3) & ~3;
    if ((end - begin) != run) {
        tinyrt_fill_words((int8_t)p->x_zp, patch + padded, patch);
    }
    for (int8_t *to = patch; to != (patch + taps); to += run) {
        (void)tinyrt_copy(x + begin, to + end, to + begin);
        x += p->row_bytes;
    }
    if (column != NULL) {
        (void)tinyrt_widen(patch, padded, column);
    }
}

/** All outputs, two of a row at a time; one and two are constants where this is called. */
static inline void tinyrt_window_rows_loop(const tinyrt_window_rows_s8_params *p,
                                           tinyrt_block_product one, tinyrt_two_blocks_product two,
                                           const int8_t *x, tinyrt_taps_word *columns,
                                           int8_t *patch, int8_t *y) {
    for (int32_t rows = p->rows; rows > 0; --rows) {
        int32_t first = -p->pad;
        int32_t lanes = 2;
        for (int32_t left = p->width; left > 0; left -= lanes) {
            lanes = (left > 1) ? 2 : 1;
            for (int32_t lane = 0; lane < lanes; ++lane) {
                tinyrt_rows_column(p, x, first, (lanes == 2) ? (columns + lane) : NULL, patch);
                first += p->step;
            }
            if (lanes == 2) {
                two(&p->block, columns, y);
            } else {
                one(&p->block, tinyrt_as_single(patch, p->kernel_h * p->run, columns), y);
            }
            y += lanes * p->block.c_out;
        }
        x += p->row_step;
    }
}

#endif
