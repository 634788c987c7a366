/** Depthwise convolutions with filters of 3 x 3, as the function TINYRT_KERNEL over weights of
 *  TINYRT_WEIGHT_BITS, which are set where this is included. */
#ifndef TINYRT_DEPTHWISE3X3_LOOP_H
#define TINYRT_DEPTHWISE3X3_LOOP_H

#include "tinyrt_depthwise3x3.h"
#include "tinyrt_filter3_weights.h"

/** One channel: what the loops along a line need; weights and sums are doubled. head is what a sum
 *  begins with where the window's first column lies before the input, tail the products of a last
 *  column behind it. */
typedef struct {
    tinyrt_filter3 filter;
    int32_t init;
    int32_t head;
    int32_t tail;
    int32_t mult;
    int32_t shift;
    int32_t rounding;
} tinyrt_channel;

/** A line of outputs: its middle input line at its first element, the bytes to those before and
 *  behind it (0 where there is none; the filter has no weights there then), and its outputs. */
typedef struct {
    const int8_t *x;
    int32_t before;
    int32_t behind;
    int8_t *y;
} tinyrt_line;

static inline int8_t tinyrt_finish3(const tinyrt_channel *channel, int32_t doubled) {
    return tinyrt_requant_rounded(doubled, channel->mult, channel->shift, channel->rounding);
}

/** The column at x; its element of the line before is in saved, where that of this line goes. */
static inline tinyrt_column3 tinyrt_next_column3(const int8_t *x, int32_t behind, int8_t *saved) {
    const int8_t middle = *x;
    const tinyrt_column3 column = tinyrt_load_column3(*saved, middle, x[behind]);
    *saved = middle;
    return column;
}

/** Every input column takes part in three outputs. Outputs may take the place of inputs: the line
 *  before is read from a copy, which this line replaces. */
static TINYRT_NOINLINE void tinyrt_slide_by_one(const tinyrt_depthwise3x3_s8_params *p,
                                                const tinyrt_channel *constants, tinyrt_line line,
                                                int8_t *saved) {
    /* A copy: the compiler need not read it again after each output. */
    const tinyrt_channel channel = *constants;
    const tinyrt_filter3 *const f = &channel.filter;
    const int32_t step = p->along.x_step;
    const int32_t inside = p->along.x_count - 2 + p->along.pad;
    const int8_t *x = line.x;
    int32_t zero = channel.head;
    if (p->along.pad == 0) {
        zero = tinyrt_add_column3(f, 0, tinyrt_next_column3(x, line.behind, saved++), channel.init);
        x += step;
    }
    tinyrt_column3 column = tinyrt_next_column3(x, line.behind, saved++);
    int32_t two = tinyrt_add_column3(f, 1, column, zero);
    int32_t one = tinyrt_add_column3(f, 0, column, channel.init);
    const int32_t length = inside * step;
    int8_t *const y = line.y + length;
    x += step + length;
    /* Counting to zero from below needs neither an end nor a comparison. */
    for (int32_t offset = -length; offset != 0; offset += step) {
        column = tinyrt_next_column3(x + offset, line.behind, saved++);
        const int32_t sum = tinyrt_add_column3(f, 2, column, two);
        two = tinyrt_add_column3(f, 1, column, one);
        one = tinyrt_add_column3(f, 0, column, channel.init);
        y[offset] = tinyrt_finish3(&channel, sum);
    }
    if (inside != p->along.y_count) {
        *y = tinyrt_finish3(&channel, two + channel.tail);
    }
}

static inline tinyrt_column3 tinyrt_column3_at(const int8_t *x, const tinyrt_line *line) {
    return tinyrt_load_column3(x[line->before], *x, x[line->behind]);
}

/* clang has too few registers for it. */
#if defined(__ARM_FEATURE_DSP) && TINYRT_ASM_LOOPS && !defined(__clang__)
#define TINYRT_TWO_ASSEMBLY
#include "tinyrt_depthwise_two.h"
#endif

/** Every other input column takes part in two outputs. */
static TINYRT_NOINLINE void tinyrt_slide_by_two(const tinyrt_depthwise3x3_s8_params *p,
                                                const tinyrt_channel *constants, tinyrt_line line) {
    const tinyrt_channel channel = *constants;
    const tinyrt_filter3 *const f = &channel.filter;
    const int32_t step = p->along.x_step;
    const int32_t inside = (p->along.x_count + p->along.pad - 1) >> 1;
    const int8_t *x = line.x;
    int32_t one = channel.head;
    if (p->along.pad == 0) {
        one = tinyrt_add_column3(f, 0, tinyrt_column3_at(x, &line), channel.init);
        x += step;
    }
    const int32_t length = inside * step;
    int8_t *const y = line.y + length;
#ifdef TINYRT_TWO_ASSEMBLY
    if (length != 0) {
        one = tinyrt_slide_columns(constants, &line, step, &x, one, y);
    }
#else
    for (int32_t offset = -length; offset != 0; offset += step) {
        const int32_t two = tinyrt_add_column3(f, 1, tinyrt_column3_at(x, &line), one);
        x += step;
        const tinyrt_column3 column = tinyrt_column3_at(x, &line);
        x += step;
        const int32_t sum = tinyrt_add_column3(f, 2, column, two);
        one = tinyrt_add_column3(f, 0, column, channel.init);
        y[offset] = tinyrt_finish3(&channel, sum);
    }
#endif
    if (inside != p->along.y_count) {
        const int32_t two = tinyrt_add_column3(f, 1, tinyrt_column3_at(x, &line), one);
        *y = tinyrt_finish3(&channel, two + channel.tail);
    }
}

/** Takes the weights of lines beside the input out of the filter; they see the zero point. */
static TINYRT_NOINLINE void tinyrt_set_borders(const tinyrt_depthwise3x3_s8_params *p, int32_t c,
                                               int32_t no_line_before, int32_t no_line_behind,
                                               tinyrt_channel *channel) {
    const tinyrt_column3 border = tinyrt_load_column3(p->x_zp, p->x_zp, p->x_zp);
    tinyrt_filter3 *const f = &channel->filter;
    *f = TINYRT_LOAD_FILTER3(p->w, c, p->shift[c & -(p->requant_step >> 2)]);
    channel->init = p->init[c];
    if (no_line_before != 0) {
        channel->init += tinyrt_drop_first3(f, p->x_zp);
    }
    if (no_line_behind != 0) {
        channel->init += tinyrt_drop_last3(f, p->x_zp);
    }
    channel->init *= 2;
    tinyrt_double3(f);
    channel->head = tinyrt_add_column3(f, 0, border, channel->init);
    channel->tail = tinyrt_add_column3(f, 2, border, 0);
}

#ifdef TINYRT_FILTER3_PAIRS
#include "tinyrt_depthwise_pair.h"
#else
/** No lines two at a time: one takes every register. */
static inline int32_t tinyrt_slide_pairs(const tinyrt_depthwise3x3_s8_params *p, int32_t c,
                                         const int8_t *x, int8_t *saved, int8_t *y) {
    (void)p, (void)c, (void)x, (void)saved, (void)y;
    return 0;
}
#endif

/** Lines from the first; line i reads input lines i * stride - pad and the two behind it. */
static void tinyrt_all_lines(const tinyrt_depthwise3x3_s8_params *p, int32_t c, const int8_t *x,
                             int8_t *saved, int8_t *y) {
    const tinyrt_axis *const across = &p->across;
    const int32_t i = c & -(p->requant_step >> 2);
    tinyrt_channel channel;
    channel.mult = p->mult[i];
    channel.shift = TINYRT_RIGHT(p->shift[i]);
    channel.rounding = tinyrt_rounding_of(channel.shift, (2 * p->y_zp) + 1);
    if ((p->stride == 1) && (across->pad == 0)) {
        for (int32_t k = 0; k < p->along.x_count; ++k) {
            saved[k] = x[k * p->along.x_step];
        }
    }
    const int32_t done = tinyrt_slide_pairs(p, c, x, saved, y);
    int32_t left = across->y_count - done;
    int32_t middle = 1 - across->pad + (done * p->stride);
    y += done * across->y_step;
    while (left > 0) {
        const int32_t first = middle == 0;
        const int32_t last = middle == (across->x_count - 1);
        tinyrt_set_borders(p, c, first, last, &channel);
        /* All lines between the first and the last have the same. */
        do {
            const tinyrt_line line = {x + (middle * across->x_step), first ? 0 : -across->x_step,
                                      last ? 0 : across->x_step, y};
            if (p->stride == 1) {
                tinyrt_slide_by_one(p, &channel, line, saved);
            } else {
                tinyrt_slide_by_two(p, &channel, line);
            }
            middle += p->stride;
            y += across->y_step;
            --left;
        } while ((left > 0) && (first == 0) && (middle != (across->x_count - 1)));
    }
}

void TINYRT_KERNEL(const tinyrt_depthwise3x3_s8_params *p, const int8_t *x, int8_t *saved,
                   int8_t *y) {
    for (int32_t n = 0; n < p->images; ++n) {
        for (int32_t c = 0; c < p->channels; ++c) {
            tinyrt_all_lines(p, c, x + c, saved, y + c);
        }
        x += p->channels * p->along.x_count * p->across.x_count;
        y += p->channels * p->along.y_count * p->across.y_count;
    }
}

#endif
