/** Convolutions with groups or dilation as products of columns, whatever the product. */
#ifndef TINYRT_GROUP_LOOP_H
#define TINYRT_GROUP_LOOP_H

#include "tinyrt_copy.h"
#include "tinyrt_group_block.h"
#include "tinyrt_repeat_tap.h"

/** Where the window of an output lies: its image, and its first tap there. */
typedef struct {
    const int8_t *image;
    int32_t y;
    int32_t x;
} tinyrt_origin;

/** What a window reads of some channels, tap by tap, with the zero point outside of the input. */
static inline void tinyrt_copy_taps(const tinyrt_group_block_s8_params *p,
                                    const tinyrt_origin *origin, int32_t channel, int8_t *patch) {
    const tinyrt_window *const window = &p->window;
    for (int32_t ky = 0; ky < window->kernel_h; ++ky) {
        const int32_t row = origin->y + (ky * window->dilation_h);
        const int8_t *const pixels = origin->image + (row * p->x.w * p->x.c) + channel;
        for (int32_t kx = 0; kx < window->kernel_w; ++kx, patch += p->c_in) {
            const int32_t column = origin->x + (kx * window->dilation_w);
            if ((row >= 0) && (row < p->x.h) && (column >= 0) && (column < p->x.w)) {
                (void)tinyrt_copy(pixels + (column * p->x.c), patch + p->c_in, patch);
            } else {
                tinyrt_fill((int8_t)p->x_zp, patch + p->c_in, patch);
            }
        }
    }
}

/** All groups of one output or two. With several groups, those of both outputs lie one behind the
 *  other. Where sums stand behind taps, an output alone is one of two, too, whose other one is
 *  anything: a single column may have no room for sums. */
static inline void tinyrt_group_products(const tinyrt_group_block_s8_params *p,
                                         tinyrt_block_product one, tinyrt_two_blocks_product two,
                                         const tinyrt_more_taps *more, const tinyrt_origin *origins,
                                         int32_t lanes, tinyrt_taps_word *columns, int8_t *patch,
                                         int8_t *y) {
    const int32_t taps = p->window.kernel_h * p->window.kernel_w * p->c_in;
    tinyrt_block_s8_params block = p->block;
    for (int32_t group = 0; group < p->groups; ++group) {
        for (int32_t lane = 0; lane < lanes; ++lane) {
            tinyrt_copy_taps(p, origins + lane, group * p->c_in, patch);
            if ((lanes == 2) || (more != NULL)) {
                tinyrt_widen_all(patch, taps, columns + lane);
            }
            if (more != NULL) {
                tinyrt_repeat_taps(more, columns + lane);
            }
        }
        if ((lanes == 2) || (more != NULL)) {
            two(&block, columns, y);
        } else {
            one(&block, tinyrt_set_single(patch, taps, columns), y);
        }
        block.w += p->w_step;
        block.init += p->init_step;
        block.mult += p->requant_step;
        block.shift += p->requant_step;
        y += ((more != NULL) ? 2 : lanes) * block.c_out;
    }
}

/** Brings the channels of all groups together in each of one output or two, of which so many lie
 *  side by side in a group. Inlined, the copy would have too few registers. */
static TINYRT_NOINLINE void tinyrt_join_groups(const tinyrt_group_block_s8_params *p,
                                               int32_t beside, int32_t lanes, const int8_t *groups,
                                               int8_t *y) {
    const int32_t c_out = p->block.c_out;
    for (int32_t lane = 0; lane < lanes; ++lane) {
        const int8_t *from = groups + (lane * c_out);
        for (int32_t group = 0; group < p->groups; ++group) {
            y = tinyrt_copy(from, y + c_out, y);
            from += beside * c_out;
        }
    }
}

/** All outputs, two at a time; one and two are constants where this is called, and more is NULL
 *  where nothing stands behind the taps. */
static inline void tinyrt_group_loop(const tinyrt_group_block_s8_params *p,
                                     tinyrt_block_product one, tinyrt_two_blocks_product two,
                                     const tinyrt_more_taps *more, const int8_t *x,
                                     tinyrt_taps_word *columns, int8_t *patch, int8_t *y) {
    const tinyrt_window *const window = &p->window;
    int8_t *const joined = patch + p->block.taps;
    tinyrt_origin origins[2] = {{x, 0, 0}, {x, 0, 0}};
    int32_t oy = 0;
    int32_t ox = 0;
    int32_t lanes = 2;
    for (int32_t left = p->y.n * p->y.h * p->y.w; left > 0; left -= lanes) {
        lanes = (left > 1) ? 2 : 1;
        for (int32_t lane = 0; lane < lanes; ++lane) {
            origins[lane].image = x;
            origins[lane].y = (oy * window->stride_h) - window->pad_top;
            origins[lane].x = (ox * window->stride_w) - window->pad_left;
            if (++ox == p->y.w) {
                ox = 0;
                if (++oy == p->y.h) {
                    oy = 0;
                    x += p->x.h * p->x.w * p->x.c;
                }
            }
        }
        if ((p->groups == 1) && ((more == NULL) || (lanes == 2))) {
            tinyrt_group_products(p, one, two, more, origins, lanes, columns, patch, y);
        } else {
            tinyrt_group_products(p, one, two, more, origins, lanes, columns, patch, joined);
            tinyrt_join_groups(p, (more != NULL) ? 2 : lanes, lanes, joined, y);
        }
        y += lanes * p->y.c;
    }
}

#endif
