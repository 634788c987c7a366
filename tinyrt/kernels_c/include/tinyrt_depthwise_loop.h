/** Depthwise convolutions, four channels at a time, whatever the weights' format. */
#ifndef TINYRT_DEPTHWISE_LOOP_H
#define TINYRT_DEPTHWISE_LOOP_H

#include "tinyrt_depthwise_block.h"

/** Where the window's taps lie, seen from its first column in the given rows. */
static void list_offsets(const tinyrt_depthwise_block_s8_params *p, int32_t slot,
                         tinyrt_tap_entry *entry) {
    const int in_lines = p->line_bytes != 0;
    const int32_t row_step = in_lines ? p->line_bytes : p->x.w * p->x.c;
    const int32_t step = in_lines ? 4 : p->x.c;
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
        ++slot;
        slot = slot == p->window.kernel_h && in_lines ? 0 : slot;
    }
    if (i != 0) {
        entry->offset[i] = offset - step;
    }
}

/** Copies four channels of an input row to a line, with the zero point around them; rows beside
 *  the input are nothing else. */
static TINYRT_NOINLINE void load_line(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                                      int32_t row, int8_t *line) {
    const int8_t *const end = line + p->line_bytes;
    if (row >= 0 && row < p->x.h) {
        const int8_t *pixel = x + row * p->x.w * p->x.c;
        int8_t *const content = line + 4 * p->window.pad_left;
        /* A window that does not reach the end of a row needs less of it. */
        const int8_t *const stop = end - content < 4 * p->x.w ? end : content + 4 * p->x.w;
        tinyrt_fill((int8_t)p->x_zp, content, line);
        for (line = content; line != stop; line += 4, pixel += p->x.c) {
            memcpy(line, pixel, 4);
        }
    }
    tinyrt_fill((int8_t)p->x_zp, end, line);
}

/** A line of outputs, with the steps from one to the next. */
typedef struct {
    const int8_t *x;
    int32_t x_step;
    int8_t *y;
    int32_t y_step;
    int32_t count;
} tinyrt_line;

/** Four channels of a line of outputs. */
static void line_of_block(const tinyrt_depthwise_block_s8_params *p, int32_t c, tinyrt_line line,
                          const tinyrt_tap_entry *taps, const tinyrt_tap_entry *end) {
    const int32_t zp = 2 * p->y_zp + 1;
    const int32_t *const init = p->init + c;
    const int32_t *const mult = p->mult + (p->requant_step != 0 ? c : 0);
    const int8_t *const shift = p->shift + (p->requant_step != 0 ? c : 0);
    for (; line.count > 0; --line.count) {
        int8_t *const y = line.y;
        int32_t acc[4] = {init[0], init[1], init[2], init[3]};
        tinyrt_list_dot(taps, end, line.x, acc);
        y[0] = tinyrt_requant_doubled(acc[0] * 2, mult[0], shift[0], zp);
        y[1] = tinyrt_requant_doubled(acc[1] * 2, mult[1], shift[1], zp);
        y[2] = tinyrt_requant_doubled(acc[2] * 2, mult[2], shift[2], zp);
        y[3] = tinyrt_requant_doubled(acc[3] * 2, mult[3], shift[3], zp);
        line.x += line.x_step;
        line.y += line.y_step;
    }
}

/** Four channels of all rows. Lines take turns: slot is where the window's first row lies once its
 *  last one is loaded. */
static void four_planes(const tinyrt_depthwise_block_s8_params *p, int32_t bits, int32_t c,
                        const int8_t *x, tinyrt_tap_entry *taps, int8_t *lines, int8_t *y) {
    const int32_t count = p->window.kernel_h * p->window.kernel_w;
    const tinyrt_tap_entry *const end =
        taps + (count + TINYRT_TAPS_PER_ENTRY - 1) / TINYRT_TAPS_PER_ENTRY;
    int32_t slot = 0;
    int32_t next = -p->window.pad_top;
    if (bits == 4) {
        tinyrt_list_weights_s4(p->w + (c >> 1), p->x.c >> 1, count, taps);
    } else {
        tinyrt_list_weights(p->w + c, p->x.c, count, taps);
    }
    list_offsets(p, 0, taps);
    if (p->line_bytes == 0 && p->y.w == 1) {
        const tinyrt_line column = {x, p->window.stride_h * p->x.w * p->x.c, y, p->y.c, p->y.h};
        line_of_block(p, c, column, taps, end);
        return;
    }
    for (int32_t oy = 0; oy < p->y.h; ++oy) {
        const int32_t top = oy * p->window.stride_h - p->window.pad_top;
        tinyrt_line row = {lines, 4 * p->window.stride_w, y + oy * p->y.w * p->y.c, p->y.c, p->y.w};
        if (p->line_bytes != 0) {
            for (; next < top + p->window.kernel_h; ++next) {
                load_line(p, x, next, lines + slot * p->line_bytes);
                slot = slot + 1 == p->window.kernel_h ? 0 : slot + 1;
            }
            list_offsets(p, slot, taps);
        } else {
            row.x = x + top * p->x.w * p->x.c;
            row.x_step = p->window.stride_w * p->x.c;
        }
        line_of_block(p, c, row, taps, end);
    }
}

/** All channels of all images; bits is a constant where this is called. */
static inline void tinyrt_depthwise_loop(const tinyrt_depthwise_block_s8_params *p, int32_t bits,
                                         const int8_t *x, tinyrt_tap_entry *taps, int8_t *lines,
                                         int8_t *y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t c = 0; c < p->x.c; c += 4) {
            four_planes(p, bits, c, x + c, taps, lines, y + c);
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}

#endif
