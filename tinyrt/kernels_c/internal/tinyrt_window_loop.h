/** Convolutions as products of columns, whatever the weights' format. */
#ifndef TINYRT_WINDOW_LOOP_H
#define TINYRT_WINDOW_LOOP_H

#include "tinyrt_copy.h"
#include "tinyrt_part_of_columns.h"
#include "tinyrt_taps.h"
#include "tinyrt_window_block.h"

/** Copies one row of the window, with the zero point where it lies outside of the input. */
static inline int8_t *tinyrt_copy_row(const tinyrt_window_block_s8_params *p, const int8_t *row,
                                      int32_t x0, tinyrt_range inside, int8_t *patch) {
    const int32_t channels = p->x.c;
    int8_t *const end = patch + (p->window.kernel_w * channels);
    int8_t *const begin_copy = patch + (inside.begin * channels);
    int8_t *const end_copy = patch + (inside.end * channels);
    tinyrt_fill((int8_t)p->x_zp, begin_copy, patch);
    (void)tinyrt_copy(row + (x0 + inside.begin) * channels, end_copy, begin_copy);
    tinyrt_fill((int8_t)p->x_zp, end, end_copy);
    return end;
}

/** What the window at (y0, x0) reads, as one run of bytes. */
static inline void tinyrt_copy_patch(const tinyrt_window_block_s8_params *p, const int8_t *x,
                                     int32_t y0, int32_t x0, int8_t *patch) {
    const tinyrt_range columns = tinyrt_taps_inside(x0, p->x.w, p->window.kernel_w, 1);
    const tinyrt_range none = {p->window.kernel_w, p->window.kernel_w};
    for (int32_t row = y0; row < (y0 + p->window.kernel_h); ++row) {
        const int inside = (row >= 0) && (row < p->x.h);
        patch = tinyrt_copy_row(p, x + (inside ? row : 0) * p->x.w * p->x.c, x0,
                                inside ? columns : none, patch);
    }
}

/** As copy_patch for a window that lies inside of the input. */
static inline void tinyrt_copy_inner_patch(const tinyrt_window_block_s8_params *p, const int8_t *x,
                                           int32_t run, int8_t *patch) {
    for (int32_t ky = 0; ky < p->window.kernel_h; ++ky) {
        patch = tinyrt_copy(x, patch + run, patch);
        x += p->x.w * p->x.c;
    }
}

/** Widens what the window at (y0, x0) reads; with no column, only copies it to patch. */
static inline void tinyrt_fill_column(const tinyrt_window_block_s8_params *p, const int8_t *x,
                                      int32_t y0, int32_t x0, tinyrt_taps_word *column,
                                      int8_t *patch) {
    const tinyrt_window *const window = &p->window;
    const int32_t run = window->kernel_w * p->x.c;
    const int32_t taps = window->kernel_h * run;
    const int inside = (y0 >= 0) && ((y0 + window->kernel_h) <= p->x.h) && (x0 >= 0) &&
                       ((x0 + window->kernel_w) <= p->x.w);
    if (!inside) {
        tinyrt_copy_patch(p, x, y0, x0, patch);
    } else {
        const int32_t row_step = p->x.w * p->x.c;
        x += (y0 * row_step) + (x0 * p->x.c);
        if ((column != NULL) && ((run % TINYRT_WIDEN_MULTIPLE) == 0)) {
            for (int32_t ky = 0; ky < window->kernel_h; ++ky) {
                column = tinyrt_widen(x, run, column);
                x += row_step;
            }
            tinyrt_pad_column(taps, column);
            return;
        }
        tinyrt_copy_inner_patch(p, x, run, patch);
    }
    if (column != NULL) {
        tinyrt_widen_all(patch, taps, column);
    }
}

/** So many outputs from (oy, ox) on, two at a time; one and two are constants where this is
 *  called. */
static inline void tinyrt_window_outputs(const tinyrt_window_block_s8_params *p,
                                         tinyrt_block_product one, tinyrt_two_blocks_product two,
                                         int32_t oy, int32_t ox, int32_t outputs, const int8_t *x,
                                         tinyrt_taps_word *columns, int8_t *patch, int8_t *y) {
    int32_t lanes = 2;
    for (int32_t left = outputs; left > 0; left -= lanes) {
        lanes = (left > 1) ? 2 : 1;
        for (int32_t lane = 0; lane < lanes; ++lane) {
            tinyrt_fill_column(p, x, (oy * p->window.stride_h) - p->window.pad_top,
                               (ox * p->window.stride_w) - p->window.pad_left,
                               (lanes == 2) ? (columns + lane) : NULL, patch);
            if (++ox == p->y.w) {
                ox = 0;
                if (++oy == p->y.h) {
                    oy = 0;
                    x += p->x.h * p->x.w * p->x.c;
                }
            }
        }
        if (lanes == 2) {
            two(&p->block, columns, y);
        } else {
            const int32_t taps = p->window.kernel_h * p->window.kernel_w * p->x.c;
            one(&p->block, tinyrt_set_single(patch, taps, columns), y);
        }
        y += lanes * p->block.c_out;
    }
}

/** All outputs; one and two are constants where this is called. */
static inline void tinyrt_window_loop(const tinyrt_window_block_s8_params *p,
                                      tinyrt_block_product one, tinyrt_two_blocks_product two,
                                      const int8_t *x, tinyrt_taps_word *columns, int8_t *patch,
                                      int8_t *y) {
    tinyrt_window_outputs(p, one, two, 0, 0, p->y.n * p->y.h * p->y.w, x, columns, patch, y);
}

/** count outputs of an image, from one of its first row on; likewise. */
static inline void tinyrt_window_pixels(const tinyrt_window_block_s8_params *p,
                                        tinyrt_block_product one, tinyrt_two_blocks_product two,
                                        int32_t first, int32_t count, const int8_t *x,
                                        tinyrt_taps_word *columns, int8_t *patch, int8_t *y) {
    tinyrt_window_outputs(p, one, two, 0, first, count, x, columns, patch, y);
}

/** Some channels of one or two pixels of a row; one and two are constants where this is called. */
static inline void tinyrt_window_part(const tinyrt_window_block_s8_params *p,
                                      tinyrt_block_product one, tinyrt_two_blocks_product two,
                                      int32_t fills, int32_t c_out, const int8_t *x,
                                      tinyrt_taps_word *columns, int8_t *patch, int8_t *y) {
    const int32_t taps = p->window.kernel_h * p->window.kernel_w * p->x.c;
    for (int32_t lane = 0; (lane < p->y.w) && fills; ++lane) {
        tinyrt_fill_column(p, x, -p->window.pad_top,
                           (lane * p->window.stride_w) - p->window.pad_left,
                           (p->y.w == 2) ? (columns + lane) : NULL, patch);
    }
    if (fills && (p->y.w == 1)) {
        (void)tinyrt_set_single(patch, taps, columns);
    }
    tinyrt_part_of_columns(&p->block, one, two, p->y.w, c_out, columns, y);
}

#endif
