/** Input rows with their padding, as many as a window is high. */
#ifndef TINYRT_LINES_H
#define TINYRT_LINES_H

#include "tinyrt_copy.h"

/** What stays the same while a window slides over its input. line_bytes is what one input row
 *  takes with its padding; 0 if the window never leaves the input, and rows are read in place. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t x_zp;
    int32_t line_bytes;
} tinyrt_line_params;

/** Slots for the rows of the window, used in turn: slot is the one that next goes to, which is
 *  where the window's first row lies once its last one is loaded. */
typedef struct {
    int8_t *lines;
    int32_t slot;
    int32_t next;
} tinyrt_line_buffer;

/** Puts the input row that comes next into its slot; rows beside the input hold the zero point. */
static inline void tinyrt_load_line(const tinyrt_line_params *p, const int8_t *x,
                                    tinyrt_line_buffer *buffer) {
    const int32_t row_bytes = p->x.w * p->x.c;
    int8_t *const line = buffer->lines + buffer->slot * p->line_bytes;
    int8_t *const content = line + p->window.pad_left * p->x.c;
    int8_t *const end = line + p->line_bytes;
    /* A window that does not reach the end of a row needs less of it. */
    const int32_t length = end - content < row_bytes ? (int32_t)(end - content) : row_bytes;
    int8_t *rest = line;
    if (buffer->next >= 0 && buffer->next < p->x.h) {
        tinyrt_fill((int8_t)p->x_zp, content, line);
        rest = tinyrt_copy(x + buffer->next * row_bytes, content + length, content);
    }
    tinyrt_fill((int8_t)p->x_zp, end, rest);
    ++buffer->next;
    buffer->slot = buffer->slot + 1 == p->window.kernel_h ? 0 : buffer->slot + 1;
}

/** Loads all rows of the window whose first one is top. */
static inline void tinyrt_load_lines(const tinyrt_line_params *p, const int8_t *x, int32_t top,
                                     tinyrt_line_buffer *buffer) {
    if (p->line_bytes != 0) {
        while (buffer->next < top + p->window.kernel_h) {
            tinyrt_load_line(p, x, buffer);
        }
    }
}

#endif
