/** Depthwise convolutions on cores with MVE, as the function TINYRT_KERNEL over weights
 *  of TINYRT_WEIGHT_BITS, which are set where this is included. */
#ifndef TINYRT_DEPTHWISE_MVE_LOOP_H
#define TINYRT_DEPTHWISE_MVE_LOOP_H

#include "tinyrt_depthwise_conv2d_mve.h"

#include "tinyrt_mve_memory.h"
#include "tinyrt_mve_taps.h"

/** Bytes that the copy of one input line has. */
static int32_t line_bytes_of(const tinyrt_depthwise_conv2d_s8_params *p) {
    const tinyrt_window *window = &p->window;
    const int32_t reach =
        (p->y.w - 1) * window->stride_w + (window->kernel_w - 1) * window->dilation_w;
    return (reach + 1) * TINYRT_LANES;
}

/** Whether the loop for common layers can be taken. */
static int is_common(const tinyrt_depthwise_conv2d_s8_params *p) {
    const tinyrt_window *window = &p->window;
    return TINYRT_MVE_ASM && window->kernel_h == 3 && window->kernel_w == 3 &&
           window->dilation_h == 1 && window->dilation_w == 1 && p->tap_pairs && p->only_positive &&
           p->requant.act_min == INT8_MIN && p->requant.act_max == INT8_MAX &&
           p->y.c % TINYRT_LANES == 0;
}

/** What does not depend on channels. */
static void set_walk(const tinyrt_depthwise_conv2d_s8_params *p, tinyrt_mve_block *block) {
    const tinyrt_window *window = &p->window;
    const int32_t line = window->dilation_h * line_bytes_of(p);
    const int32_t taps = is_common(p) ? 0 : window->kernel_w;
    const int32_t lines = is_common(p) ? 2 : window->kernel_h;
    block->tap_step = window->dilation_w * TINYRT_LANES;
    block->line_step = line - taps * block->tap_step;
    block->lines = window->kernel_h;
    block->tap_pairs = p->tap_pairs ? window->kernel_w / 2 : 0;
    block->single_taps = window->kernel_w - 2 * block->tap_pairs;
    block->x_pair = window->stride_w * TINYRT_LANES;
    block->x_next = 2 * block->x_pair - lines * line;
    block->y_pair = p->y_point_step;
    block->y_next = 2 * p->y_point_step;
    block->y_zp = p->requant.y_zp;
    block->act_min = vdupq_n_s16((int16_t)p->requant.act_min);
    block->act_max = vdupq_n_s16((int16_t)p->requant.act_max);
}

static void set_channels(const tinyrt_depthwise_conv2d_s8_params *p, int32_t c, const int32_t *bias,
                         tinyrt_mve_block *block) {
    const int32_t *const mult = p->requant.mult + c * p->requant.step;
    const int8_t *const shift = p->requant.shift + c * p->requant.step;
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

/** Copies eight channels of points that are step bytes apart, fewer where x has no more. */
static void copy_points(const int8_t *x, int32_t step, int32_t points, int32_t channels,
                        int8_t *scratch) {
    if (channels >= TINYRT_LANES) {
        for (; points > 0; --points) {
            vstrbq_s16(scratch, vldrbq_s16(x));
            x += step;
            scratch += TINYRT_LANES;
        }
        return;
    }
    for (; points > 0; --points) {
        vstrbq_s16(scratch, vldrbq_z_s16(x, vctp16q((uint32_t)channels)));
        x += step;
        scratch += TINYRT_LANES;
    }
}

/** Copies points of one input line where several output channels read one input channel. */
static void spread_points(const tinyrt_depthwise_conv2d_s8_params *p, int32_t c, const int8_t *x,
                          int32_t points, int8_t *scratch) {
    const int32_t multiplier = p->y.c / p->x.c;
    for (int32_t i = 0; i < points; ++i) {
        for (int32_t j = 0; j < TINYRT_LANES; ++j) {
            const int32_t oc = c + j < p->y.c ? c + j : c;
            *scratch++ = x[oc / multiplier];
        }
        x += p->x_point_step;
    }
}

/** Copies what a line's windows read of one input line, for eight channels. */
static void copy_line(const tinyrt_depthwise_conv2d_s8_params *p, int32_t c, const int8_t *x,
                      int32_t points, int8_t *scratch) {
    const int32_t before = p->window.pad_left < points ? p->window.pad_left : points;
    const int32_t behind = points - before;
    const int32_t inside = behind < p->x.w ? behind : p->x.w;
    tinyrt_mve_fill(scratch, (int8_t)p->x_zp, before * TINYRT_LANES);
    scratch += before * TINYRT_LANES;
    if (p->y.c == p->x.c) {
        copy_points(x + c, p->x_point_step, inside, p->y.c - c, scratch);
    } else {
        spread_points(p, c, x, inside, scratch);
    }
    scratch += inside * TINYRT_LANES;
    tinyrt_mve_fill(scratch, (int8_t)p->x_zp, (behind - inside) * TINYRT_LANES);
}

/** One output line: pairs of points, the last one twice where their number is odd. */
static void output_line(const tinyrt_depthwise_conv2d_s8_params *p, tinyrt_mve_block *block,
                        const int8_t *x, int8_t *y) {
    const int32_t pairs = p->y.w / 2;
    const int32_t x_pair = block->x_pair;
    const int32_t y_pair = block->y_pair;
    const int common = is_common(p);
    if (pairs > 0) {
        tinyrt_mve_point_pairs(block, common, pairs, x, y);
    }
    if (p->y.w % 2 != 0) {
        block->x_pair = 0;
        block->y_pair = 0;
        tinyrt_mve_point_pairs(block, common, 1, x + 2 * pairs * x_pair, y + 2 * pairs * y_pair);
        block->x_pair = x_pair;
        block->y_pair = y_pair;
    }
}

/** Output lines [first, first + count) of eight channels. Input lines that the band before has read
 *  are kept: its output may lie on them. */
static void band(const tinyrt_depthwise_conv2d_s8_params *p, tinyrt_mve_block *block, int32_t c,
                 int32_t first, int32_t count, const int8_t *x, int8_t *scratch, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int32_t line_bytes = line_bytes_of(p);
    const int32_t extent = (window->kernel_h - 1) * window->dilation_h + 1;
    const int32_t lines = (count - 1) * window->stride_h + extent;
    const int32_t top = first * window->stride_h - window->pad_top;
    int32_t kept = 0;
    if (first > 0 && extent > window->stride_h) {
        kept = extent - window->stride_h;
        tinyrt_mve_copy(scratch, scratch + p->band * window->stride_h * line_bytes,
                        kept * line_bytes);
    }
    for (int32_t i = kept; i < lines; ++i) {
        int8_t *const copy = scratch + i * line_bytes;
        if (top + i >= 0 && top + i < p->x.h) {
            copy_line(p, c, x + (top + i) * p->x_line_step, line_bytes / TINYRT_LANES, copy);
        } else {
            tinyrt_mve_fill(copy, (int8_t)p->x_zp, line_bytes);
        }
    }
    for (int32_t i = 0; i < count; ++i) {
        const int8_t *const start = scratch + i * window->stride_h * line_bytes;
        int8_t *const out = y + (first + i) * p->y_line_step + c;
        output_line(p, block, start, out);
    }
}

#if TINYRT_WEIGHT_BITS == 4

/** Widens two nibbles of each of so many bytes: low ones first, high ones behind them. */
static void widen_nibbles(const int8_t *w, int32_t bytes, int8_t *wide) {
    for (int32_t i = 0; i < bytes; i += TINYRT_VECTOR) {
        const mve_pred16_t lanes = vctp8q((uint32_t)(bytes - i));
        const int8x16_t two = vldrbq_z_s8(w + i, lanes);
        vstrbq_p_s8(wide + i, vshrq_n_s8(vshlq_n_s8(two, 4), 4), lanes);
        vstrbq_p_s8(wide + bytes + i, vshrq_n_s8(two, 4), lanes);
    }
}

#endif

void TINYRT_KERNEL(const tinyrt_depthwise_conv2d_s8_params *p, const int8_t *x, const int8_t *w,
                   const int32_t *bias, int8_t *scratch, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int32_t taps = window->kernel_h * window->kernel_w;
    tinyrt_mve_block block;
#if TINYRT_WEIGHT_BITS == 4
    int8_t *const wide = scratch;
    scratch += TINYRT_LANES * taps;
#endif
    set_walk(p, &block);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t c = 0; c < p->y.c; c += TINYRT_LANES) {
            set_channels(p, c, bias, &block);
#if TINYRT_WEIGHT_BITS == 4
            widen_nibbles(w + (c >> 1) * taps, TINYRT_LANES / 2 * taps, wide);
            block.w = wide;
#else
            block.w = w + c * taps;
#endif
            for (int32_t first = 0; first < p->y.h; first += p->band) {
                const int32_t rest = p->y.h - first;
                band(p, &block, c, first, rest < p->band ? rest : p->band, x, scratch, y);
            }
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}

#endif
