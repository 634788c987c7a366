/** Depthwise convolutions, four channels at a time, whatever the weights' format. TINYRT_FINISH, a
 *  tinyrt_finish, is set where this is included. */
#ifndef TINYRT_DEPTHWISE_LOOP_H
#define TINYRT_DEPTHWISE_LOOP_H

#include "tinyrt_depthwise_block.h"

/** Input rows that a window reaches over. */
static inline int32_t tinyrt_depthwise_reach_of(const tinyrt_window *window) {
    return ((window->kernel_h - 1) * window->dilation_h) + 1;
}

/** Where the window's taps lie, seen from its first column in the given rows. */
static TINYRT_NOINLINE void tinyrt_depthwise_list_offsets(const tinyrt_depthwise_block_s8_params *p,
                                                          int32_t slot, tinyrt_tap_entry *entry) {
    const int in_lines = p->line_bytes != 0;
    const int32_t row_step = in_lines ? p->line_bytes : (p->x.w * p->x.c);
    const int32_t step = (in_lines ? 4 : p->x.c) * p->window.dilation_w;
    const int32_t lines = tinyrt_depthwise_reach_of(&p->window);
    int32_t i = 0;
    int32_t offset = 0;
    for (int32_t ky = 0; ky < p->window.kernel_h; ++ky) {
        offset = slot * row_step;
        for (int32_t kx = 0; kx < p->window.kernel_w; ++kx) {
            entry->offset[i] = offset;
            offset += step;
            if (++i == TINYRT_TAPS_PER_ENTRY) {
                i = 0;
                ++entry;
            }
        }
        slot += p->window.dilation_h;
        slot -= ((slot >= lines) && in_lines) ? lines : 0;
    }
    if (i != 0) {
        entry->offset[i] = offset - step;
    }
}

/** Where the inputs of four channels lie in a pixel. */
typedef struct {
    int32_t from[4];
} tinyrt_inputs;

static inline tinyrt_inputs tinyrt_depthwise_inputs_of(const tinyrt_depthwise_block_s8_params *p,
                                                       int32_t c) {
    const int32_t filters = p->y.c / p->x.c;
    const tinyrt_inputs inputs = {
        {c / filters, (c + 1) / filters, (c + 2) / filters, (c + 3) / filters}};
    return inputs;
}

/** Copies the inputs of four channels of each pixel to [line, stop); NULL for the first four. */
static inline void tinyrt_depthwise_copy_inputs(const tinyrt_depthwise_block_s8_params *p,
                                                const tinyrt_inputs *inputs, const int8_t *pixel,
                                                const int8_t *stop, int8_t *line) {
    if (inputs == NULL) {
        for (; line != stop; line += 4, pixel += p->x.c) {
            (void)memcpy(line, pixel, 4);
        }
        return;
    }
    for (; line != stop; pixel += p->x.c) {
        for (int32_t i = 0; i < 4; ++i) {
            *line++ = pixel[inputs->from[i]];
        }
    }
}

/** Copies four channels of an input row to a line, with the zero point around them; rows beside
 *  the input are nothing else. */
static TINYRT_NOINLINE void tinyrt_depthwise_load_line(const tinyrt_depthwise_block_s8_params *p,
                                                       const tinyrt_inputs *inputs, const int8_t *x,
                                                       int32_t row, int8_t *line) {
    const int8_t *const end = line + p->line_bytes;
    if ((row >= 0) && (row < p->x.h)) {
        const int8_t *const pixel = x + (row * p->x.w * p->x.c);
        int8_t *const content = line + (4 * p->window.pad_left);
        /* A window that does not reach the end of a row needs less of it. */
        const int8_t *const stop =
            ((end - content) < (4 * p->x.w)) ? end : (content + (4 * p->x.w));
        tinyrt_fill((int8_t)p->x_zp, content, line);
        tinyrt_depthwise_copy_inputs(p, inputs, pixel, stop, content);
        line += stop - line;
    }
    tinyrt_fill((int8_t)p->x_zp, end, line);
}

/** From a sum to an output: its mantissa, its shift, and 2 * y_zp + 1. */
typedef int8_t (*tinyrt_finish)(int32_t sum, int32_t mult, int32_t shift, int32_t zp_and_half);

/** Requires: |sum| < 2^29. */
static inline int8_t tinyrt_depthwise_doubled(int32_t sum, int32_t mult, int32_t shift,
                                              int32_t zp_and_half) {
    return tinyrt_requant_doubled(sum * 2, mult, shift, zp_and_half);
}

/** A line of outputs, with the steps from one to the next. */
typedef struct {
    const int8_t *x;
    int32_t x_step;
    int8_t *y;
    int32_t y_step;
    int32_t count;
} tinyrt_tapped_line;

/** Four channels of a line of outputs. */
static inline void tinyrt_depthwise_line_here(const tinyrt_depthwise_block_s8_params *p,
                                              tinyrt_finish finish, int32_t c,
                                              tinyrt_tapped_line line, const tinyrt_tap_entry *taps,
                                              const tinyrt_tap_entry *end) {
    const int32_t zp = (2 * p->y_zp) + 1;
    const int32_t *const init = p->init + c;
    const int32_t *const mult = p->mult + ((p->requant_step != 0) ? c : 0);
    const int8_t *const shift = p->shift + ((p->requant_step != 0) ? c : 0);
    for (; line.count > 0; --line.count) {
        int8_t *const y = line.y;
        int32_t acc[4] = {init[0], init[1], init[2], init[3]};
        tinyrt_list_dot(taps, end, line.x, acc);
        y[0] = finish(acc[0], mult[0], shift[0], zp);
        y[1] = finish(acc[1], mult[1], shift[1], zp);
        y[2] = finish(acc[2], mult[2], shift[2], zp);
        y[3] = finish(acc[3], mult[3], shift[3], zp);
        line.x += line.x_step;
        line.y += line.y_step;
    }
}

/** The same on its own, which has more registers. */
static TINYRT_NOINLINE void
tinyrt_depthwise_line_of_block(const tinyrt_depthwise_block_s8_params *p, int32_t c,
                               tinyrt_tapped_line line, const tinyrt_tap_entry *taps,
                               const tinyrt_tap_entry *end) {
    tinyrt_depthwise_line_here(p, TINYRT_FINISH, c, line, taps, end);
}

/** Four channels of all rows. Lines take turns: slot is where the window's first row lies once its
 *  last one is loaded. Where rows are read in place, the list has its offsets already. */
static inline void tinyrt_depthwise_four_planes(const tinyrt_depthwise_block_s8_params *p,
                                                int32_t bits, int spread, int32_t c,
                                                const int8_t *x, tinyrt_tap_entry *taps,
                                                int8_t *lines, int8_t *y) {
    const int32_t count = p->window.kernel_h * p->window.kernel_w;
    const int32_t reach = tinyrt_depthwise_reach_of(&p->window);
    tinyrt_inputs inputs;
    if (spread != 0) {
        inputs = tinyrt_depthwise_inputs_of(p, c);
    } else {
        x += c;
    }
    const tinyrt_tap_entry *const end =
        taps + (count + TINYRT_TAPS_PER_ENTRY - 1) / TINYRT_TAPS_PER_ENTRY;
    int32_t slot = 0;
    int32_t next = -p->window.pad_top;
    if (bits == 4) {
        tinyrt_list_weights_s4(p->w + (c >> 1), p->y.c >> 1, count, taps);
    } else if (bits == 16) {
        tinyrt_list_weights_wide(p->w + (2 * c), 2 * p->y.c, count, taps);
    } else {
        tinyrt_list_weights(p->w + c, p->y.c, count, taps);
    }
    /* A single column in place is a line of its own. */
    const int down = (p->line_bytes == 0) && (p->y.w == 1);
    const int32_t x_row = p->x.w * p->x.c;
    for (int32_t oy = 0; oy < (down ? 1 : p->y.h); ++oy) {
        const int32_t top = (oy * p->window.stride_h) - p->window.pad_top;
        tinyrt_tapped_line line = {x + (top * x_row), p->window.stride_w * p->x.c,
                                   y + (oy * p->y.w * p->y.c), p->y.c, p->y.w};
        if (down != 0) {
            line.x_step = p->window.stride_h * x_row;
            line.count = p->y.h;
        } else if (p->line_bytes != 0) {
            for (; next < (top + reach); ++next) {
                tinyrt_depthwise_load_line(p, spread ? &inputs : NULL, x, next,
                                           lines + (slot * p->line_bytes));
                slot = ((slot + 1) == reach) ? 0 : (slot + 1);
            }
            tinyrt_depthwise_list_offsets(p, slot, taps);
            line.x = lines;
            line.x_step = 4 * p->window.stride_w;
        } else {
            /* The line of the input itself. */
        }
        tinyrt_depthwise_line_of_block(p, c, line, taps, end);
    }
}

/** The channels [first, end) of an image, in fours. */
static inline void tinyrt_depthwise_planes(const tinyrt_depthwise_block_s8_params *p, int32_t bits,
                                           int spread, int32_t first, int32_t end, const int8_t *x,
                                           tinyrt_tap_entry *taps, int8_t *lines, int8_t *y) {
    if (p->line_bytes == 0) {
        tinyrt_depthwise_list_offsets(p, 0, taps);
    }
    for (int32_t c = first; c < end; c += 4) {
        tinyrt_depthwise_four_planes(p, bits, spread, c, x, taps, lines, y + c);
    }
}

/** All images; bits and spread, whether a channel has several filters, are constants where this is
 *  called. */
static inline void tinyrt_depthwise_loop(const tinyrt_depthwise_block_s8_params *p, int32_t bits,
                                         int spread, const int8_t *x, tinyrt_tap_entry *taps,
                                         int8_t *lines, int8_t *y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        tinyrt_depthwise_planes(p, bits, spread, 0, p->y.c, x, taps, lines, y);
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}

#endif
