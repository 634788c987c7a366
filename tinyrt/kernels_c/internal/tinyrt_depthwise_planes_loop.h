/** Depthwise convolutions channel by channel on cores with MVE, as the function TINYRT_KERNEL: of
 *  whole images, or of bands where TINYRT_BANDS is set. */
#ifndef TINYRT_DEPTHWISE_PLANES_LOOP_H
#define TINYRT_DEPTHWISE_PLANES_LOOP_H

#include "tinyrt_depthwise_planes.h"

#include "tinyrt_mve_memory.h"
#include "tinyrt_planes_copy.h"

/** Places of the outputs of so many lines, pair by pair in the order of their windows: that of the
 *  upper one in the lower half of a word. They are -1 for windows without an output. Returns how
 * many fours of windows that takes. */
static int32_t tinyrt_set_places(const tinyrt_depthwise_planes_s8_params *p, int32_t lines,
                                 uint32_t *places) {
    const uint32x4_t none = vdupq_n_u32(UINT32_MAX);
    const uint32_t both_lines = (uint32_t)p->y_line_step;
    const uint32_t step = (uint32_t)p->y_point_step;
    const int32_t points = p->y.w;
    const int32_t between = p->positions - points;
    const uint32_t *const start = places;
    uint32_t upper = 0;
    for (; lines > 0; lines -= 2) {
        const int both = lines > 1;
        const uint32_t next = (both != 0) ? ((step << 16) + step) : step;
        uint32_t pair = upper + (((both != 0) ? (upper + both_lines) : UINT16_MAX) << 16);
        for (int32_t i = points; i > 0; --i) {
            *places++ = pair;
            pair += next;
        }
        /* There are three windows at most between lines: what follows overwrites the others. */
        vstrwq_u32(places, none);
        places += between;
        upper += 2 * both_lines;
    }
    const int32_t pairs = (int32_t)(places - start) - between;
    return (pairs + TINYRT_MVE_PAIRS_AT_ONCE - 1) / TINYRT_MVE_PAIRS_AT_ONCE;
}

/** Takes the places of so many lines, unless it has them. */
static void tinyrt_take_places(tinyrt_planes *t, int32_t lines) {
    if (t->lines != lines) {
        t->lines = lines;
        t->times = tinyrt_set_places(t->p, lines, t->places);
    }
}

static void tinyrt_set_planes(const tinyrt_depthwise_planes_s8_params *p, int8_t *scratch,
                              tinyrt_planes *t) {
    const tinyrt_window *const window = &p->window;
    const int32_t points = ((p->y.w - 1) * window->stride_w) + window->kernel_w;
    const int32_t advance = 2 * window->stride_h;
    const int32_t step = (p->column > 0) ? (p->column * window->stride_w) : advance;
    t->p = p;
    t->before = (window->pad_left < points) ? window->pad_left : points;
    t->inside = ((points - t->before) < p->x.w) ? (points - t->before) : p->x.w;
    t->reach = window->kernel_h + window->stride_h;
    t->advance = advance;
    t->groups = (p->y.h + 1) / 2;
    t->whole = p->y.h <= p->band;
    t->slots = (t->whole != 0) ? t->groups : ((p->band / 2) + 1);
    t->group_bytes = p->positions * step;
    t->plane_bytes =
        ((t->slots - 1) * t->group_bytes) + ((p->column > 0) ? (points * p->column) : t->reach);
    t->channels = (tinyrt_mve_channel *)(void *)scratch;
    t->places = (uint32_t *)(void *)(t->channels + TINYRT_CHANNELS);
    t->lines = 0;
    t->times = 0;
    tinyrt_take_places(t, (t->whole != 0) ? p->y.h : 2);
    t->copy = (int8_t *)(t->places + (TINYRT_MVE_PAIRS_AT_ONCE * (t->times + 1)));
    t->planes = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)t->plane_bytes);
}

/** Padding everywhere, and no weights: what lies beside lines and weights stays so. */
static void tinyrt_fill_planes(tinyrt_planes *t) {
    tinyrt_mve_fill(t->copy, (int8_t)t->p->x_zp, TINYRT_CHANNELS * t->plane_bytes);
    tinyrt_mve_fill(t->channels->upper, 0, TINYRT_CHANNELS * (int32_t)sizeof(*t->channels));
}

/** Weights and scales of channels [c, c + 8). */
static void tinyrt_set_channels(const tinyrt_planes *t, int32_t c, const int8_t *w,
                                const int32_t *bias) {
    const tinyrt_depthwise_planes_s8_params *const p = t->p;
    const tinyrt_requant_params *const requant = &p->requant;
    const int32_t *const mult = requant->mult + (c * requant->step);
    const int8_t *const shift = requant->shift + (c * requant->step);
    const int32_t column = (p->column > 0) ? p->column : TINYRT_VECTOR;
    const int32_t kernel_w = p->window.kernel_w;
    const int32_t below = TINYRT_VECTOR + p->window.stride_h;
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)sizeof(*t->channels));
    tinyrt_mve_channel *channels = t->channels;
    w += c * p->window.kernel_h * p->window.kernel_w;
    for (int32_t row = 0; row < p->window.kernel_h; ++row) {
        int8_t *place = channels->upper + row;
        for (int32_t i = kernel_w; i > 0; --i) {
            const int16x8_t taps = vldrbq_s16(w);
            vstrbq_scatter_offset_s16(place, places, taps);
            vstrbq_scatter_offset_s16(place + below, places, taps);
            w += TINYRT_CHANNELS;
            place += column;
        }
    }
    for (int32_t i = 0; i < TINYRT_CHANNELS; i += 4) {
        const uint32x4_t to = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)sizeof(*channels));
        const int32x4_t both = vldrbq_s32(shift + i);
        vstrwq_scatter_offset_s32(&channels->bias, to, vldrwq_s32(bias + c + i));
        vstrwq_scatter_offset_s32(&channels->mult, to, vldrwq_s32(mult + i));
        vstrwq_scatter_offset_s32(&channels->right, to, vminq_s32(both, vdupq_n_s32(0)));
        vstrwq_scatter_offset_s32(&channels->left, to, vmaxq_s32(both, vdupq_n_s32(0)));
        channels += 4;
    }
}

/** Outputs of some groups, side by side from a slot on: of all of them, or one by one. */
static void tinyrt_compute_groups(const tinyrt_planes *t, tinyrt_mve_plane *plane, int32_t groups,
                                  int32_t slot, int8_t *y) {
    plane->places = t->places;
    plane->times = t->times;
    for (; groups > 0; --groups) {
        tinyrt_mve_plane_outputs(plane, t->channels, t->copy + (slot * t->group_bytes), y);
        y += 2 * t->p->y_line_step;
        slot = ((slot + 1) < t->slots) ? (slot + 1) : 0;
    }
}

/** Output lines [first, first + count) of eight channels or fewer, a whole band or the last one.
 *  slot: of its first group. Returns that of the next band's. */
static int32_t tinyrt_output_band(tinyrt_planes *t, tinyrt_mve_plane *plane, int32_t channels,
                                  int32_t first, int32_t count, int32_t slot, const int8_t *x,
                                  int8_t *y) {
    if (t->p->column > 0) {
        tinyrt_copy_band(t, first, count, slot, x, channels);
    } else {
        tinyrt_copy_column(t, x, channels);
    }
    plane->plane_bytes = t->plane_bytes;
    plane->end = t->channels + channels;
    if (t->whole != 0) {
        tinyrt_compute_groups(t, plane, 1, 0, y);
        return 0;
    }
    int32_t next = slot + (count / 2);
    next = (next < t->slots) ? next : (next - t->slots);
    y += first * t->p->y_line_step;
    tinyrt_take_places(t, 2);
    tinyrt_compute_groups(t, plane, count / 2, slot, y);
    if ((count % 2) != 0) {
        tinyrt_take_places(t, 1);
        tinyrt_compute_groups(t, plane, 1, next, y + ((count - 1) * t->p->y_line_step));
    }
    return next;
}

/** What all channels share. */
static void tinyrt_set_plane(const tinyrt_depthwise_planes_s8_params *p, tinyrt_mve_plane *plane) {
    const int32_t step =
        (p->column > 0) ? (p->column * p->window.stride_w) : (2 * p->window.stride_h);
    plane->act_min = vdupq_n_s16((int16_t)p->requant.act_min);
    plane->act_max = vdupq_n_s16((int16_t)p->requant.act_max);
    plane->step = step;
    plane->y_zp = p->requant.y_zp;
    plane->loop = TINYRT_PLANE_ANY;
    if (p->rounding != TINYRT_ROUNDING_ANY) {
        plane->loop = (p->rounding == TINYRT_ROUNDING_POSITIVE) ? TINYRT_PLANE_POSITIVE_4
                                                                : TINYRT_PLANE_SIGNED_4;
        plane->loop += (step == 4) ? 0 : ((step == 2) ? 1 : 2);
    }
}

#ifdef TINYRT_BANDS

void TINYRT_KERNEL(const tinyrt_depthwise_planes_s8_params *p, int32_t first, int32_t end,
                   const int8_t *x, const int8_t *w, const int32_t *bias, int8_t *scratch,
                   int8_t *y) {
    tinyrt_mve_plane plane;
    tinyrt_planes t;
    tinyrt_set_plane(p, &plane);
    tinyrt_set_planes(p, scratch, &t);
    if (first == 0) {
        tinyrt_fill_planes(&t);
        tinyrt_set_channels(&t, 0, w, bias);
    }
    int32_t slot = first / 2;
    while (slot >= t.slots) {
        slot -= t.slots;
    }
    for (; first < end; first += p->band) {
        const int32_t rest = end - first;
        slot = tinyrt_output_band(&t, &plane, p->y.c, first, (rest < p->band) ? rest : p->band,
                                  slot, x, y);
    }
}

#else

void TINYRT_KERNEL(const tinyrt_depthwise_planes_s8_params *p, const int8_t *x, const int8_t *w,
                   const int32_t *bias, int8_t *scratch, int8_t *y) {
    tinyrt_mve_plane plane;
    tinyrt_planes t;
    tinyrt_set_plane(p, &plane);
    tinyrt_set_planes(p, scratch, &t);
    tinyrt_fill_planes(&t);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t c = 0; c < p->y.c; c += TINYRT_CHANNELS) {
            const int32_t left = p->y.c - c;
            const int32_t channels = (left < TINYRT_CHANNELS) ? left : TINYRT_CHANNELS;
            int32_t slot = 0;
            tinyrt_set_channels(&t, c, w, bias);
            for (int32_t first = 0; first < p->y.h; first += p->band) {
                const int32_t rest = p->y.h - first;
                slot = tinyrt_output_band(&t, &plane, channels, first,
                                          (rest < p->band) ? rest : p->band, slot, x + c, y + c);
            }
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}

#endif

#endif
