/** Convolutions some of whose taps are read more than once, as products of columns. */
#ifndef TINYRT_WINDOW_MORE_LOOP_H
#define TINYRT_WINDOW_MORE_LOOP_H

#include "tinyrt_copy.h"
#include "tinyrt_dense_more_loop.h"
#include "tinyrt_window_column.h"
#include "tinyrt_window_more.h"

/** The next output: its image, row and column. */
typedef struct {
    const int8_t *x;
    int32_t oy;
    int32_t ox;
} tinyrt_more_place;

/** Fills a column for the next output, or the patch alone where there is none. */
static inline void tinyrt_next_column(const tinyrt_window_block_s8_params *p,
                                      tinyrt_more_place *place, tinyrt_taps_word *column,
                                      int8_t *patch) {
    const tinyrt_window *const window = &p->window;
    tinyrt_window_column(p, place->x, (place->oy * window->stride_h) - window->pad_top,
                         (place->ox * window->stride_w) - window->pad_left, column, patch);
    if (++place->ox == p->y.w) {
        place->ox = 0;
        if (++place->oy == p->y.h) {
            place->oy = 0;
            place->x += p->x.h * p->x.w * p->x.c;
        }
    }
}

/** All outputs, two at a time; one and two are constants where this is called. */
static inline void tinyrt_window_more_loop(const tinyrt_window_more_s8_params *p,
                                           tinyrt_block_product one, tinyrt_two_blocks_product two,
                                           const int8_t *x, tinyrt_taps_word *columns,
                                           int8_t *patch, int8_t *y) {
    const tinyrt_window_block_s8_params *const layer = &p->layer;
    const int32_t outputs = layer->y.n * layer->y.h * layer->y.w;
    tinyrt_more_place place = {x, 0, 0};
    for (int32_t left = outputs >> 1; left > 0; --left) {
        for (int32_t lane = 0; lane < 2; ++lane) {
            tinyrt_next_column(layer, &place, columns + lane, patch);
            tinyrt_repeat_taps(&p->more, columns + lane);
        }
        two(&layer->block, columns, y);
        y += 2 * layer->block.c_out;
    }
    if (((outputs & 1) != 0) && (p->more.taps == NULL)) {
        /* A single column may have no room for sums: one of two has, and the other is anything. */
        tinyrt_next_column(layer, &place, columns, patch);
        tinyrt_repeat_taps(&p->more, columns);
        two(&layer->block, columns, patch);
        (void)tinyrt_copy(patch, y + layer->block.c_out, y);
    } else if ((outputs & 1) != 0) {
        const int32_t taps = layer->window.kernel_h * layer->window.kernel_w * layer->x.c;
        tinyrt_next_column(layer, &place, NULL, patch);
        one(&layer->block, tinyrt_single_of_more(&p->more, patch, taps, columns), y);
    }
}

#endif
