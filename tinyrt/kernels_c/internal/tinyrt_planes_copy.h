/** Copies of input lines for depthwise convolutions channel by channel, for cores with MVE. */
#ifndef TINYRT_PLANES_COPY_H
#define TINYRT_PLANES_COPY_H

#include "tinyrt_depthwise_planes.h"
#include "tinyrt_mve_planes.h"
#include "tinyrt_taps.h"

/** Channels that are copied at once. */
#define TINYRT_CHANNELS 8

/** What does not depend on channels. A group is two output lines and what they read.
 *  before, inside: points of padding before an input line, and of the line itself that windows
 * read. reach: lines that a group reads; advance: from a group's first one to the next one's.
 *  whole: whether all groups lie in the copy. Otherwise they take turns in so many slots, one more
 *  than a band has groups: it has what the next band's first group shares with this band's lines.
 *  group_bytes, plane_bytes: of the copy, of one channel.
 *  places: of the outputs of lines lines, all groups' or one group's; for times four windows.
 *  planes: where eight channels' planes begin in the copy.
 *  channels: eight of them. */
typedef struct {
    const tinyrt_depthwise_planes_s8_params *p;
    int32_t before;
    int32_t inside;
    int32_t reach;
    int32_t advance;
    int32_t groups;
    int whole;
    int32_t slots;
    int32_t group_bytes;
    int32_t plane_bytes;
    uint32_t *places;
    int32_t lines;
    int32_t times;
    int8_t *copy;
    uint16x8_t planes;
    tinyrt_mve_channel *channels;
} tinyrt_planes;

/** Points of a line, and columns of the copy: from one to the next in bytes. x: NULL for padding.
 */
typedef struct {
    const int8_t *x;
    int32_t x_step;
    int32_t points;
    int32_t column;
    int16_t padding;
} tinyrt_line;

#if TINYRT_ASM_LOOPS

/** Eight channels of every point of a line, to columns of a group, or of two groups. */
static inline void tinyrt_copy_to_columns(const tinyrt_line *line, int8_t *to, uint16x8_t places) {
    const int8_t *x = line->x;
    __asm volatile("wls lr, %[count], 2f\n"
                   "1:\n"
                   "vldrb.u16 q0, [%[x]]\n"
                   "add %[x], %[step]\n"
                   "vstrb.16 q0, [%[to], %q[places]]\n"
                   "add %[to], %[column]\n"
                   "le lr, 1b\n"
                   "2:\n"
                   : [x] "+l"(x), [to] "+r"(to)
                   : [step] "r"(line->x_step), [count] "r"(line->points),
                     [column] "r"(line->column), [places] "w"(places)
                   : "q0", "lr", "memory");
}

static inline void tinyrt_copy_to_both(const tinyrt_line *line, int8_t *to, uint16x8_t places,
                                       uint16x8_t others) {
    const int8_t *x = line->x;
    __asm volatile("wls lr, %[count], 2f\n"
                   "1:\n"
                   "vldrb.u16 q0, [%[x]]\n"
                   "add %[x], %[step]\n"
                   "vstrb.16 q0, [%[to], %q[places]]\n"
                   "vstrb.16 q0, [%[to], %q[others]]\n"
                   "add %[to], %[column]\n"
                   "le lr, 1b\n"
                   "2:\n"
                   : [x] "+l"(x), [to] "+r"(to)
                   : [step] "r"(line->x_step), [count] "r"(line->points),
                     [column] "r"(line->column), [places] "w"(places), [others] "w"(others)
                   : "q0", "lr", "memory");
}

#else

static inline void tinyrt_copy_to_columns(const tinyrt_line *line, int8_t *to, uint16x8_t places) {
    const int8_t *x = line->x;
    for (int32_t points = line->points; points > 0; --points) {
        vstrbq_scatter_offset_s16(to, places, vldrbq_s16(x));
        x += line->x_step;
        to += line->column;
    }
}

static inline void tinyrt_copy_to_both(const tinyrt_line *line, int8_t *to, uint16x8_t places,
                                       uint16x8_t others) {
    const int8_t *x = line->x;
    for (int32_t points = line->points; points > 0; --points) {
        const int16x8_t eight = vldrbq_s16(x);
        vstrbq_scatter_offset_s16(to, places, eight);
        vstrbq_scatter_offset_s16(to, others, eight);
        x += line->x_step;
        to += line->column;
    }
}

#endif

/** Some channels of a line, fewer than eight, or one value everywhere. */
static void tinyrt_copy_some(const tinyrt_line *line, mve_pred16_t lanes, int8_t *to,
                             uint16x8_t places) {
    const int8_t *x = line->x;
    for (int32_t points = line->points; points > 0; --points) {
        const int16x8_t some = (x != NULL) ? vldrbq_z_s16(x, lanes) : vdupq_n_s16(line->padding);
        vstrbq_scatter_offset_p_s16(to, places, some, lanes);
        x = (x != NULL) ? (x + line->x_step) : NULL;
        to += line->column;
    }
}

/** A line of so many channels to as many places of the copy: none, one or two. */
static void tinyrt_copy_line(const tinyrt_planes *t, const tinyrt_line *line, int32_t channels,
                             const int32_t *place, int32_t places) {
    int8_t *const to = t->copy + (t->before * line->column);
    const uint16x8_t first = vaddq_n_u16(t->planes, (uint16_t)place[0]);
    const uint16x8_t second = vaddq_n_u16(t->planes, (uint16_t)place[1]);
    if ((line->x == NULL) || (channels < TINYRT_CHANNELS)) {
        const mve_pred16_t lanes = vctp16q((uint32_t)channels);
        if (places > 0) {
            tinyrt_copy_some(line, lanes, to, first);
        }
        if (places > 1) {
            tinyrt_copy_some(line, lanes, to, second);
        }
    } else if (places > 1) {
        tinyrt_copy_to_both(line, to, first, second);
    } else if (places > 0) {
        tinyrt_copy_to_columns(line, to, first);
    } else {
        /* Nobody reads this line. */
    }
}

/** All lines of windows of one column: they are one line of the copy. */
static void tinyrt_copy_column(const tinyrt_planes *t, const int8_t *x, int32_t channels) {
    const tinyrt_depthwise_planes_s8_params *const p = t->p;
    const int32_t lines = ((p->y.h - 1) * p->window.stride_h) + p->window.kernel_h;
    const tinyrt_range in = tinyrt_taps_inside(-p->window.pad_top, p->x.h, lines, 1);
    if (in.end > in.begin) {
        const tinyrt_line line = {.x = x + ((in.begin - p->window.pad_top) * p->x_line_step),
                                  .x_step = p->x_line_step,
                                  .points = in.end - in.begin,
                                  .column = 1};
        const int32_t place[2] = {in.begin, 0};
        tinyrt_copy_line(t, &line, channels, place, 1);
    }
}

/** The input lines of an output band that the copy does not have yet. slot: of its first group. */
static void tinyrt_copy_band(const tinyrt_planes *t, int32_t first, int32_t count, int32_t slot,
                             const int8_t *x, int32_t channels) {
    const tinyrt_depthwise_planes_s8_params *const p = t->p;
    const int32_t stride = p->window.stride_h;
    const int32_t lines = ((count - 1) * stride) + p->window.kernel_h;
    const int32_t top = (first * stride) - p->window.pad_top;
    const int32_t kept = (first > 0) ? (p->window.kernel_h - stride) : 0;
    tinyrt_line line = {.x_step = p->x_point_step,
                        .points = t->inside,
                        .column = p->column,
                        .padding = (int16_t)p->x_zp};
    int32_t left = t->groups - (first / 2);
    int32_t own = slot * t->group_bytes;
    int32_t before = -1;
    int32_t row = 0;
    for (int32_t i = 0; i < lines; ++i) {
        const int inside = ((top + i) >= 0) && ((top + i) < p->x.h);
        if ((i >= kept) && ((inside != 0) || (t->whole == 0))) {
            /* Its own group, if that is one, and the one before, if that reads it. */
            int32_t place[2] = {0, 0};
            int32_t places = 0;
            if (left > 0) {
                place[places++] = own + row;
            }
            if ((before >= 0) && ((row + t->advance) < t->reach)) {
                place[places++] = before + row + t->advance;
            }
            line.x = (inside != 0) ? (x + ((top + i) * p->x_line_step)) : NULL;
            tinyrt_copy_line(t, &line, channels, place, places);
        }
        if (++row == t->advance) {
            row = 0;
            --left;
            before = own;
            own += t->group_bytes;
            if (++slot == t->slots) {
                slot = 0;
                own = 0;
            }
        }
    }
}

#endif
