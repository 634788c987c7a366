#include "tinyrt_depthwise_block.h"

#include "tinyrt_copy.h"

/** Input rows with their padding, one slot for each row of the window, used in turn. */
typedef struct {
    int8_t *lines;
    int32_t slot;
    int32_t next;
} tinyrt_line_buffer;

/** Puts the input row that comes next into its slot; rows beside the input hold the zero point. */
static void load_line(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                      tinyrt_line_buffer *buffer) {
    const int32_t row_bytes = p->x.w * p->x.c;
    int8_t *const line = buffer->lines + buffer->slot * p->line_bytes;
    int8_t *const content = line + p->window.pad_left * p->x.c;
    int8_t *const end = line + p->line_bytes;
    const int inside = buffer->next >= 0 && buffer->next < p->x.h;
    /* A window that does not reach the end of a row needs less of it. */
    const int32_t length = end - content < row_bytes ? (int32_t)(end - content) : row_bytes;
    int8_t *rest = line;
    if (inside) {
        tinyrt_fill((int8_t)p->x_zp, content, line);
        rest = tinyrt_copy(x + buffer->next * row_bytes, content + length, content);
    }
    tinyrt_fill((int8_t)p->x_zp, end, rest);
    ++buffer->next;
    buffer->slot = buffer->slot + 1 == p->window.kernel_h ? 0 : buffer->slot + 1;
}

/** Where the window's taps lie, seen from its first column in the given rows. */
static void list_offsets(const tinyrt_depthwise_block_s8_params *p, int32_t slot,
                         tinyrt_tap_entry *entry) {
    const int32_t row_step = p->line_bytes != 0 ? p->line_bytes : p->x.w * p->x.c;
    int32_t i = 0;
    int32_t offset = 0;
    for (int32_t ky = 0; ky < p->window.kernel_h; ++ky) {
        offset = slot * row_step;
        for (int32_t kx = 0; kx < p->window.kernel_w; ++kx) {
            entry->offset[i] = offset;
            offset += p->x.c;
            if (++i == TINYRT_TAPS_PER_ENTRY) {
                i = 0;
                ++entry;
            }
        }
        ++slot;
        slot = slot == p->window.kernel_h && p->line_bytes != 0 ? 0 : slot;
    }
    if (i != 0) {
        entry->offset[i] = offset - p->x.c;
    }
}

/** Four channels of one row of outputs. */
static void row_of_block(const tinyrt_depthwise_block_s8_params *p, int32_t c, const int8_t *x,
                         const tinyrt_tap_entry *taps, const tinyrt_tap_entry *end, int8_t *y) {
    const int32_t zp = 2 * p->y_zp + 1;
    const int32_t *const init = p->init + c;
    const int32_t *const mult = p->mult + (p->requant_step != 0 ? c : 0);
    const int8_t *const shift = p->shift + (p->requant_step != 0 ? c : 0);
    const int32_t x_step = p->window.stride_w * p->x.c;
    int8_t *const y_end = y + p->y.w * p->y.c;
    for (; y != y_end; y += p->y.c, x += x_step) {
        int32_t acc[4] = {init[0], init[1], init[2], init[3]};
        tinyrt_list_dot(taps, end, x, acc);
        y[0] = tinyrt_requant_doubled(acc[0] * 2, mult[0], shift[0], zp);
        y[1] = tinyrt_requant_doubled(acc[1] * 2, mult[1], shift[1], zp);
        y[2] = tinyrt_requant_doubled(acc[2] * 2, mult[2], shift[2], zp);
        y[3] = tinyrt_requant_doubled(acc[3] * 2, mult[3], shift[3], zp);
    }
}

void tinyrt_depthwise_block_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                               tinyrt_tap_entry *taps, int8_t *lines, int8_t *TINYRT_RESTRICT y) {
    const int32_t count = p->window.kernel_h * p->window.kernel_w;
    const tinyrt_tap_entry *const end =
        taps + (count + TINYRT_TAPS_PER_ENTRY - 1) / TINYRT_TAPS_PER_ENTRY;
    const int32_t row_bytes = p->x.w * p->x.c;
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * row_bytes) {
        tinyrt_line_buffer buffer = {lines, 0, -p->window.pad_top};
        for (int32_t oy = 0; oy < p->y.h; ++oy, y += p->y.w * p->y.c) {
            const int32_t top = oy * p->window.stride_h - p->window.pad_top;
            const int8_t *rows = lines;
            if (p->line_bytes != 0) {
                while (buffer.next < top + p->window.kernel_h) {
                    load_line(p, x, &buffer);
                }
            } else {
                rows = x + top * row_bytes;
            }
            list_offsets(p, buffer.slot, taps);
            for (int32_t c = 0; c < p->x.c; c += 4) {
                tinyrt_list_weights(p->w + c, p->x.c, count, taps);
                row_of_block(p, c, rows + c, taps, end, y + c);
            }
        }
    }
}
