/** Convolutions as products of columns, whatever the weights' format. A source that defines
 *  TINYRT_NINES, whose outputs are whole rows, has code of its own for windows in colour. */
#ifndef TINYRT_WINDOW_LOOP_H
#define TINYRT_WINDOW_LOOP_H

#include "tinyrt_part_of_columns.h"
#include "tinyrt_window_column.h"

#ifdef TINYRT_NINES
#include "tinyrt_window_nines.h"
#endif

/** So many outputs from (oy, ox) on, two at a time; one and two are constants where this is
 *  called. */
static inline void tinyrt_window_outputs(const tinyrt_window_block_s8_params *p,
                                         tinyrt_block_product one, tinyrt_two_blocks_product two,
                                         int32_t oy, int32_t ox, int32_t outputs, const int8_t *x,
                                         tinyrt_taps_word *columns, int8_t *patch, int8_t *y) {
    int32_t lanes = 2;
    for (int32_t left = outputs; left > 0; left -= lanes) {
#ifdef TINYRT_NINES
        const int32_t done = tinyrt_nines_of_row(p, two, oy, ox, x, columns, y) - ox;
        ox += done;
        left -= done;
        y += done * p->block.c_out;
#endif
        lanes = (left > 1) ? 2 : 1;
        for (int32_t lane = 0; lane < lanes; ++lane) {
            tinyrt_window_column(p, x, (oy * p->window.stride_h) - p->window.pad_top,
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
            one(&p->block, tinyrt_as_single(patch, taps, columns), y);
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
        tinyrt_window_column(p, x, -p->window.pad_top,
                             (lane * p->window.stride_w) - p->window.pad_left,
                             (p->y.w == 2) ? (columns + lane) : NULL, patch);
    }
    if (fills && (p->y.w == 1)) {
        (void)tinyrt_set_single(patch, taps, columns);
    }
    tinyrt_part_of_columns(&p->block, one, two, p->y.w, c_out, columns, y);
}

#endif
