#include "tinyrt_depthwise_block.h"

/** Where the window's taps lie, seen from its first column in the given rows. */
static void list_offsets(const tinyrt_depthwise_block_s8_params *p, int32_t slot,
                         tinyrt_tap_entry *entry) {
    const int32_t row_step =
        p->line.line_bytes != 0 ? p->line.line_bytes : p->line.x.w * p->line.x.c;
    int32_t i = 0;
    int32_t offset = 0;
    for (int32_t ky = 0; ky < p->line.window.kernel_h; ++ky) {
        offset = slot * row_step;
        for (int32_t kx = 0; kx < p->line.window.kernel_w; ++kx) {
            entry->offset[i] = offset;
            offset += p->line.x.c;
            if (++i == TINYRT_TAPS_PER_ENTRY) {
                i = 0;
                ++entry;
            }
        }
        ++slot;
        slot = slot == p->line.window.kernel_h && p->line.line_bytes != 0 ? 0 : slot;
    }
    if (i != 0) {
        entry->offset[i] = offset - p->line.x.c;
    }
}

/** Four channels of one row of outputs. */
static void row_of_block(const tinyrt_depthwise_block_s8_params *p, int32_t c, const int8_t *x,
                         const tinyrt_tap_entry *taps, const tinyrt_tap_entry *end, int8_t *y) {
    const int32_t zp = 2 * p->y_zp + 1;
    const int32_t *const init = p->init + c;
    const int32_t *const mult = p->mult + (p->requant_step != 0 ? c : 0);
    const int8_t *const shift = p->shift + (p->requant_step != 0 ? c : 0);
    const int32_t x_step = p->line.window.stride_w * p->line.x.c;
    int8_t *const y_end = y + p->line.y.w * p->line.y.c;
    for (; y != y_end; y += p->line.y.c, x += x_step) {
        int32_t acc[4] = {init[0], init[1], init[2], init[3]};
        tinyrt_list_dot(taps, end, x, acc);
        y[0] = tinyrt_requant_doubled(acc[0] * 2, mult[0], shift[0], zp);
        y[1] = tinyrt_requant_doubled(acc[1] * 2, mult[1], shift[1], zp);
        y[2] = tinyrt_requant_doubled(acc[2] * 2, mult[2], shift[2], zp);
        y[3] = tinyrt_requant_doubled(acc[3] * 2, mult[3], shift[3], zp);
    }
}

void tinyrt_depthwise_block_s8(const tinyrt_depthwise_block_s8_params *p, const int8_t *x,
                               tinyrt_tap_entry *taps, int8_t *lines, int8_t *y) {
    const int32_t count = p->line.window.kernel_h * p->line.window.kernel_w;
    const tinyrt_tap_entry *const end =
        taps + (count + TINYRT_TAPS_PER_ENTRY - 1) / TINYRT_TAPS_PER_ENTRY;
    const int32_t row_bytes = p->line.x.w * p->line.x.c;
    for (int32_t n = 0; n < p->line.y.n; ++n, x += p->line.x.h * row_bytes) {
        tinyrt_line_buffer buffer = {lines, 0, -p->line.window.pad_top};
        for (int32_t oy = 0; oy < p->line.y.h; ++oy, y += p->line.y.w * p->line.y.c) {
            const int32_t top = oy * p->line.window.stride_h - p->line.window.pad_top;
            const int8_t *rows = lines;
            tinyrt_load_lines(&p->line, x, top, &buffer);
            if (p->line.line_bytes == 0) {
                rows = x + top * row_bytes;
            }
            list_offsets(p, buffer.slot, taps);
            for (int32_t c = 0; c < p->line.x.c; c += 4) {
                tinyrt_list_weights(p->w + c, p->line.x.c, count, taps);
                row_of_block(p, c, rows + c, taps, end, y + c);
            }
        }
    }
}
