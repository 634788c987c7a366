#include "tinyrt_depthwise3x3.h"

#include "tinyrt_filter3.h"

/** One channel of one row: its constants, the three input rows at its first element. */
typedef struct {
    tinyrt_filter3 filter;
    const int8_t *rows[3];
    int32_t init;
    int32_t mult;
    int32_t shift;
    int32_t zp;
} tinyrt_channel;

static inline tinyrt_column3 column_at(const tinyrt_channel *channel, int32_t offset) {
    return tinyrt_load_column3(channel->rows[0][offset], channel->rows[1][offset],
                               channel->rows[2][offset]);
}

static inline int8_t finish(const tinyrt_channel *channel, int32_t sum) {
    return tinyrt_requant_doubled(2 * sum, channel->mult, channel->shift, channel->zp);
}

/** Every input column takes part in three outputs. */
static inline void slide_by_one(const tinyrt_channel *channel, int32_t step, int32_t end,
                                int8_t *y) {
    const tinyrt_filter3 *const f = &channel->filter;
    const tinyrt_column3 first = column_at(channel, 0);
    const tinyrt_column3 second = column_at(channel, step);
    int32_t two = tinyrt_add_column3(f, 1, second, tinyrt_add_column3(f, 0, first, channel->init));
    int32_t one = tinyrt_add_column3(f, 0, second, channel->init);
    y -= 2 * step;
    for (int32_t offset = 2 * step; offset != end + 2 * step; offset += step) {
        const tinyrt_column3 x = column_at(channel, offset);
        const int32_t sum = tinyrt_add_column3(f, 2, x, two);
        two = tinyrt_add_column3(f, 1, x, one);
        one = tinyrt_add_column3(f, 0, x, channel->init);
        y[offset] = finish(channel, sum);
    }
}

/** Every other input column takes part in two outputs. */
static inline void slide_by_two(const tinyrt_channel *channel, int32_t step, int32_t end,
                                int8_t *y) {
    const tinyrt_filter3 *const f = &channel->filter;
    int32_t one = tinyrt_add_column3(f, 0, column_at(channel, 0), channel->init);
    int32_t offset = 0;
    for (int8_t *const y_end = y + end; y != y_end; y += step) {
        const int32_t two = tinyrt_add_column3(f, 1, column_at(channel, offset + step), one);
        offset += 2 * step;
        const tinyrt_column3 x = column_at(channel, offset);
        const int32_t sum = tinyrt_add_column3(f, 2, x, two);
        one = tinyrt_add_column3(f, 0, x, channel->init);
        *y = finish(channel, sum);
    }
}

static inline tinyrt_channel channel_of(const tinyrt_depthwise3x3_s8_params *p,
                                        const int8_t *const *rows, int32_t c) {
    const int32_t i = c & -(p->requant_step >> 2);
    const tinyrt_channel channel = {
        .filter = tinyrt_load_filter3(p->w + 12 * c),
        .rows = {rows[0] + c, rows[1] + c, rows[2] + c},
        .init = p->init[c],
        .mult = p->mult[i],
        .shift = p->shift[i],
        .zp = 2 * p->y_zp + 1,
    };
    return channel;
}

/** All channels of one row of outputs. */
static TINYRT_NOINLINE void row_by_one(const tinyrt_depthwise3x3_s8_params *p,
                                       const int8_t *const *rows, int8_t *y) {
    const int32_t channels = p->line.x.c;
    const int32_t end = p->line.y.w * channels;
    for (int32_t c = 0; c < channels; ++c) {
        const tinyrt_channel channel = channel_of(p, rows, c);
        slide_by_one(&channel, channels, end, y + c);
    }
}

/** All channels of one row of outputs. */
static TINYRT_NOINLINE void row_by_two(const tinyrt_depthwise3x3_s8_params *p,
                                       const int8_t *const *rows, int8_t *y) {
    const int32_t channels = p->line.x.c;
    const int32_t end = p->line.y.w * channels;
    for (int32_t c = 0; c < channels; ++c) {
        const tinyrt_channel channel = channel_of(p, rows, c);
        slide_by_two(&channel, channels, end, y + c);
    }
}

void tinyrt_depthwise3x3_s8(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x, int8_t *lines,
                            int8_t *y) {
    const tinyrt_line_params *const line = &p->line;
    const int32_t row_bytes = line->x.w * line->x.c;
    for (int32_t n = 0; n < line->y.n; ++n, x += line->x.h * row_bytes) {
        tinyrt_line_buffer buffer = {lines, 0, -line->window.pad_top};
        int32_t top = -line->window.pad_top;
        for (int32_t oy = 0; oy < line->y.h; ++oy, y += line->y.w * line->y.c) {
            const int8_t *rows[3];
            tinyrt_load_lines(line, x, top, &buffer);
            for (int32_t ky = 0, slot = buffer.slot; ky < 3; ++ky) {
                rows[ky] = line->line_bytes != 0 ? lines + slot * line->line_bytes
                                                 : x + (top + ky) * row_bytes;
                slot = slot == 2 ? 0 : slot + 1;
            }
            if (line->window.stride_w == 1) {
                row_by_one(p, rows, y);
            } else {
                row_by_two(p, rows, y);
            }
            top += line->window.stride_h;
        }
    }
}
