/** Depthwise convolutions on cores with MVE, as the function TINYRT_KERNEL over weights
 *  of TINYRT_WEIGHT_BITS, which are set where this is included. */
#ifndef TINYRT_DEPTHWISE_MVE_LOOP_H
#define TINYRT_DEPTHWISE_MVE_LOOP_H

#include "tinyrt_depthwise_conv2d_mve.h"

#include "tinyrt_mve_memory.h"
#include "tinyrt_mve_taps.h"
#include "tinyrt_taps.h"

/** What does not depend on channels.
 *  before, inside: points of padding before an input line, and of the line itself that windows
 * read. line_bytes: of the copy of a line. extent: lines from a window's first to its last. walked:
 * bytes from a window's first tap to where the loop over its taps ends. */
typedef struct {
    const tinyrt_depthwise_conv2d_s8_params *p;
    int common;
    int32_t before;
    int32_t inside;
    int32_t line_bytes;
    int32_t extent;
    int32_t walked;
} tinyrt_walk;

/** Whether the loop for common layers can be taken. */
static int tinyrt_is_common(const tinyrt_depthwise_conv2d_s8_params *p) {
    const tinyrt_window *window = &p->window;
    /* Bits that differ from the common layer's: fewer instructions than as many conditions. */
    const int32_t others = (window->kernel_h ^ 3) | (window->kernel_w ^ 3) |
                           (window->dilation_h ^ 1) | (window->dilation_w ^ 1) |
                           (p->requant.act_min ^ INT8_MIN) | (p->requant.act_max ^ INT8_MAX) |
                           (p->y.c % TINYRT_LANES);
    return (others == 0) && p->tap_pairs && p->only_positive;
}

static void tinyrt_set_walk(const tinyrt_depthwise_conv2d_s8_params *p, tinyrt_walk *walk,
                            tinyrt_mve_block *block) {
    const tinyrt_window *window = &p->window;
    const int common = tinyrt_is_common(p);
    const int32_t points =
        ((p->y.w - 1) * window->stride_w) + (window->kernel_w - 1) * window->dilation_w + 1;
    const int32_t before = (window->pad_left < points) ? window->pad_left : points;
    const int32_t line = window->dilation_h * points * TINYRT_LANES;
    walk->p = p;
    walk->common = common;
    walk->before = before;
    walk->inside = ((points - before) < p->x.w) ? (points - before) : p->x.w;
    walk->line_bytes = points * TINYRT_LANES;
    walk->extent = ((window->kernel_h - 1) * window->dilation_h) + 1;
    walk->walked = (common ? 2 : window->kernel_h) * line;
    block->tap_step = window->dilation_w * TINYRT_LANES;
    block->line_step = line - (common ? 0 : window->kernel_w) * block->tap_step;
    block->lines = window->kernel_h;
    block->tap_pairs = p->tap_pairs ? (window->kernel_w / 2) : 0;
    block->single_taps = window->kernel_w - (2 * block->tap_pairs);
    block->y_zp = p->requant.y_zp;
    block->act_min = vdupq_n_s16((int16_t)p->requant.act_min);
    block->act_max = vdupq_n_s16((int16_t)p->requant.act_max);
}

static void tinyrt_set_channels(const tinyrt_depthwise_conv2d_s8_params *p, int32_t c,
                                const int32_t *bias, tinyrt_mve_block *block) {
    const int32_t *const mult = p->requant.mult + (c * p->requant.step);
    const int8_t *const shift = p->requant.shift + (c * p->requant.step);
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t even = vldrbq_s32(shift);
    const int32x4_t odd = vldrbq_s32(shift + 4);
    block->mult_even = vldrwq_s32(mult);
    block->mult_odd = vldrwq_s32(mult + 4);
    block->right_even = vminq_s32(even, zero);
    block->right_odd = vminq_s32(odd, zero);
    block->left_even = vmaxq_s32(even, zero);
    block->left_odd = vmaxq_s32(odd, zero);
    block->bias_even = vldrwq_s32(bias + c);
    block->bias_odd = vldrwq_s32(bias + c + 4);
    block->lanes = vctp16q((uint32_t)(p->y.c - c));
}

/** Where the inputs of output channels from c on lie; behind the last channel, the first one. */
static uint16x8_t tinyrt_inputs_from(const tinyrt_depthwise_conv2d_s8_params *p, int32_t c) {
    const int32_t multiplier = p->y.c / p->x.c;
    uint16_t inputs[TINYRT_LANES];
    for (int32_t i = 0; i < TINYRT_LANES; ++i) {
        inputs[i] = (uint16_t)((((c + i) < p->y.c) ? (c + i) : c) / multiplier);
    }
    return vldrhq_u16(inputs);
}

#if TINYRT_ASM_LOOPS

/** Eight bytes of every point, side by side. */
static inline void tinyrt_copy_eights(const int8_t *x, int32_t x_step, int32_t count, int8_t *y) {
    register int32_t left __asm("lr") = count;
    __asm volatile("wls lr, lr, 2f\n"
                   "1:\n"
                   "vldrb.u16 q0, [%[x]]\n"
                   "add %[x], %[step]\n"
                   "vstrb.16 q0, [%[y]], #8\n"
                   "le lr, 1b\n"
                   "2:\n"
                   : [x] "+l"(x), [y] "+l"(y), "+r"(left)
                   : [step] "r"(x_step)
                   : "q0", "memory");
}

#else

static inline void tinyrt_copy_eights(const int8_t *x, int32_t x_step, int32_t count, int8_t *y) {
    for (; count > 0; --count) {
        vstrbq_s16(y, vldrbq_s16(x));
        x += x_step;
        y += TINYRT_LANES;
    }
}

#endif

/** Copies eight channels of what windows read of some lines. */
static void tinyrt_copy_lines(const tinyrt_walk *walk, int32_t c, int32_t lines, const int8_t *x,
                              int8_t *scratch) {
    const tinyrt_depthwise_conv2d_s8_params *const p = walk->p;
    const int side_by_side = (p->y.c == p->x.c) && (p->y.c - c) >= TINYRT_LANES;
    const uint16x8_t inputs = side_by_side ? vdupq_n_u16(0) : tinyrt_inputs_from(p, c);
    scratch += walk->before * TINYRT_LANES;
    for (; lines > 0; --lines) {
        int8_t *to = scratch;
        if (side_by_side != 0) {
            tinyrt_copy_eights(x + c, p->x_point_step, walk->inside, to);
        } else {
            const int8_t *from = x;
            for (int32_t points = walk->inside; points > 0; --points) {
                vstrbq_s16(to, vldrbq_gather_offset_s16(from, inputs));
                from += p->x_point_step;
                to += TINYRT_LANES;
            }
        }
        x += p->x_line_step;
        scratch += walk->line_bytes;
    }
}

/** Two points that are pair bytes apart, and so on for points that are next bytes apart. */
typedef struct {
    int32_t pair;
    int32_t next;
} tinyrt_steps;

static void tinyrt_set_steps(const tinyrt_walk *walk, tinyrt_steps x, tinyrt_steps y,
                             tinyrt_mve_block *block) {
    block->x_pair = x.pair;
    block->x_next = x.next - walk->walked;
    block->y_pair = y.pair;
    block->y_next = y.next;
}

/** Output lines: points of two lines are pairs, and points of a last line side by side. Where their
 *  number is odd, the very last one is computed twice. */
static void tinyrt_output_lines(const tinyrt_walk *walk, tinyrt_mve_block *block, int32_t count,
                                const int8_t *x, int8_t *y) {
    const tinyrt_depthwise_conv2d_s8_params *const p = walk->p;
    const int32_t points = p->y.w;
    const tinyrt_steps x_steps = {.pair = p->window.stride_h * walk->line_bytes,
                                  .next = p->window.stride_w * TINYRT_LANES};
    const tinyrt_steps y_steps = {.pair = p->y_line_step, .next = p->y_point_step};
    tinyrt_set_steps(walk, x_steps, y_steps, block);
    for (; count > 1; count -= 2) {
        tinyrt_mve_point_pairs(block, walk->common, points, x, y);
        x += 2 * x_steps.pair;
        y += 2 * y_steps.pair;
    }
    if ((count > 0) && (points > 1)) {
        const tinyrt_steps x_line = {.pair = x_steps.next, .next = 2 * x_steps.next};
        const tinyrt_steps y_line = {.pair = y_steps.next, .next = 2 * y_steps.next};
        tinyrt_set_steps(walk, x_line, y_line, block);
        tinyrt_mve_point_pairs(block, walk->common, points / 2, x, y);
    }
    if ((count > 0) && ((points % 2) != 0)) {
        block->x_pair = 0;
        block->y_pair = 0;
        tinyrt_mve_point_pairs(block, walk->common, 1, x + (points - 1) * x_steps.next,
                               y + (points - 1) * y_steps.next);
    }
}

/** Output lines [first, first + count) of eight channels. Input lines that the band before has read
 *  are kept: its output may lie on them. */
static void tinyrt_output_band(const tinyrt_walk *walk, tinyrt_mve_block *block, int32_t c,
                               int32_t first, int32_t count, const int8_t *x, int8_t *scratch,
                               int8_t *y) {
    const tinyrt_depthwise_conv2d_s8_params *const p = walk->p;
    const int32_t line_bytes = walk->line_bytes;
    const int32_t stride = p->window.stride_h;
    const int32_t lines = ((count - 1) * stride) + walk->extent;
    const int32_t top = (first * stride) - p->window.pad_top;
    int32_t kept = 0;
    if ((first > 0) && (walk->extent > stride)) {
        kept = walk->extent - stride;
        tinyrt_mve_copy(scratch, scratch + (p->band * stride * line_bytes), kept * line_bytes);
    }
    const tinyrt_range in = tinyrt_taps_inside(top + kept, p->x.h, lines - kept, 1);
    int8_t *const fresh = scratch + (kept * line_bytes);
    tinyrt_mve_fill(fresh, (int8_t)p->x_zp, in.begin * line_bytes);
    tinyrt_copy_lines(walk, c, in.end - in.begin, x + (top + kept + in.begin) * p->x_line_step,
                      fresh + (in.begin * line_bytes));
    tinyrt_mve_fill(fresh + (in.end * line_bytes), (int8_t)p->x_zp,
                    (lines - kept - in.end) * line_bytes);
    tinyrt_output_lines(walk, block, count, scratch, y + (first * p->y_line_step) + c);
}

#if TINYRT_WEIGHT_BITS == 4

/** Widens two nibbles of each of so many bytes: low ones first, high ones behind them. */
static void tinyrt_widen_nibbles(const int8_t *w, int32_t bytes, int8_t *wide) {
    for (int32_t i = 0; i < bytes; i += TINYRT_VECTOR) {
        const mve_pred16_t lanes = vctp8q((uint32_t)(bytes - i));
        const int8x16_t two = vldrbq_z_s8(w + i, lanes);
        vstrbq_p_s8(wide + i, vshrq_n_s8(vshlq_n_s8(two, 4), 4), lanes);
        vstrbq_p_s8(wide + bytes + i, vshrq_n_s8(two, 4), lanes);
    }
}

#endif

#ifdef TINYRT_BANDS

void TINYRT_KERNEL(const tinyrt_depthwise_conv2d_s8_params *p, int32_t first, int32_t end,
                   const int8_t *x, const int8_t *w, const int32_t *bias, int8_t *scratch,
                   int8_t *y) {
    tinyrt_walk walk;
    tinyrt_mve_block block;
#if TINYRT_WEIGHT_BITS == 4
    const int32_t taps = p->window.kernel_h * p->window.kernel_w;
    tinyrt_widen_nibbles(w, TINYRT_LANES / 2 * taps, scratch);
    w = scratch;
    scratch += TINYRT_LANES * taps;
#endif
    tinyrt_set_walk(p, &walk, &block);
    tinyrt_set_channels(p, 0, bias, &block);
    block.w = w;
    if (first == 0) {
        tinyrt_mve_fill(scratch, (int8_t)p->x_zp,
                        (((p->band - 1) * p->window.stride_h) + walk.extent) * walk.line_bytes);
    }
    for (; first < end; first += p->band) {
        const int32_t rest = end - first;
        tinyrt_output_band(&walk, &block, 0, first, (rest < p->band) ? rest : p->band, x, scratch,
                           y);
    }
}

#else

void TINYRT_KERNEL(const tinyrt_depthwise_conv2d_s8_params *p, const int8_t *x,
                   const TINYRT_WEIGHT *w, const int32_t *bias, int8_t *scratch, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int32_t taps = window->kernel_h * window->kernel_w;
    const int32_t together = (p->y.h < p->band) ? p->y.h : p->band;
    tinyrt_walk walk;
    tinyrt_mve_block block;
#if TINYRT_WEIGHT_BITS == 4
    int8_t *const wide = scratch;
    scratch += TINYRT_LANES * taps;
#endif
    tinyrt_set_walk(p, &walk, &block);
    /* Channels change what lies inside of the input alone. */
    tinyrt_mve_fill(scratch, (int8_t)p->x_zp,
                    (((together - 1) * window->stride_h) + walk.extent) * walk.line_bytes);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t c = 0; c < p->y.c; c += TINYRT_LANES) {
            tinyrt_set_channels(p, c, bias, &block);
#if TINYRT_WEIGHT_BITS == 4
            tinyrt_widen_nibbles(w + (c >> 1) * taps, TINYRT_LANES / 2 * taps, wide);
            block.w = wide;
#else
            block.w = w + (c * taps);
#endif
            for (int32_t first = 0; first < p->y.h; first += p->band) {
                const int32_t rest = p->y.h - first;
                tinyrt_output_band(&walk, &block, c, first, (rest < p->band) ? rest : p->band, x,
                                   scratch, y);
            }
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}

#endif

#endif
