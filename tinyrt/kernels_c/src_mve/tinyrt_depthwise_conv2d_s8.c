#include "tinyrt_depthwise_conv2d_mve.h"

#include "tinyrt_mve_memory.h"
#include "tinyrt_mve_taps.h"

/** One block of channels: its constants, and how its points lie in scratch. */
typedef struct {
    tinyrt_mve_block shared;
    const int8_t *w;
    const int32_t *bias;
    int32_t line_bytes;
} tinyrt_block;

static void load_requant(const tinyrt_depthwise_conv2d_s8_params *p, int32_t c,
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
}

static inline void taps(const tinyrt_depthwise_conv2d_s8_params *p, tinyrt_mve_sums *sums,
                        const int8_t *a, const int8_t *b, const int8_t *w, int32_t line_bytes) {
    const int32_t step = p->window.dilation_w * TINYRT_LANES;
    for (int32_t k = 0; k < p->window.kernel_h; ++k) {
        const int8_t *a_tap = a;
        const int8_t *b_tap = b;
        int32_t left = p->window.kernel_w;
        for (; p->tap_pairs && left > 1; left -= 2) {
            tinyrt_mve_two_taps(sums, a_tap, b_tap, w, step);
            a_tap += 2 * step;
            b_tap += 2 * step;
            w += 2 * TINYRT_LANES;
        }
        for (; left > 0; --left) {
            tinyrt_mve_one_tap(sums, a_tap, b_tap, w);
            a_tap += step;
            b_tap += step;
            w += TINYRT_LANES;
        }
        a += line_bytes * p->window.dilation_h;
        b += line_bytes * p->window.dilation_h;
    }
}

/** One output line: two points at a time, the last one twice where their number is odd. */
static void output_line(const tinyrt_depthwise_conv2d_s8_params *p, const tinyrt_block *block,
                        const int8_t *x, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int is_3x3 = window->kernel_h == 3 && window->kernel_w == 3 && window->dilation_h == 1 &&
                       window->dilation_w == 1 && p->tap_pairs;
    const int32_t line_bytes = block->line_bytes;
    const int8_t *const w = block->w;
    const int32_t y_step = p->y_point_step;
    const int32_t only_positive = p->only_positive;
    int32_t x_step = window->stride_w * TINYRT_LANES;
    for (int32_t left = p->y.w; left > 0; left -= 2) {
        x_step = left > 1 ? x_step : 0;
        int8_t *const second = left > 1 ? y + y_step : y;
        const int32x4_t even = vldrwq_s32(block->bias);
        const int32x4_t odd = vldrwq_s32(block->bias + 4);
        tinyrt_mve_sums sums = {even, odd, even, odd};
        if (is_3x3) {
            tinyrt_mve_taps_3x3(&sums, x, x + x_step, w, line_bytes);
        } else {
            taps(p, &sums, x, x + x_step, w, line_bytes);
        }
        tinyrt_mve_finish(&block->shared, only_positive, &sums, y, second);
        x += 2 * x_step;
        y += 2 * y_step;
    }
}

/** Copies what a line's windows read of one input line, for the channels from c on. */
static void copy_line(const tinyrt_depthwise_conv2d_s8_params *p, uint32_t lanes, int32_t c,
                      const int8_t *x, int32_t points, int8_t *scratch) {
    const int32_t multiplier = p->y.c / p->x.c;
    const int32_t before = p->window.pad_left < points ? p->window.pad_left : points;
    const int32_t behind = points - before;
    const int32_t inside = behind < p->x.w ? behind : p->x.w;
    tinyrt_mve_fill(scratch, (int8_t)p->x_zp, before * TINYRT_LANES);
    scratch += before * TINYRT_LANES;
    if (multiplier == 1) {
        x += c;
        for (int32_t i = 0; i < inside; ++i) {
            vstrbq_s16(scratch, vldrbq_z_s16(x, (mve_pred16_t)lanes));
            x += p->x_point_step;
            scratch += TINYRT_LANES;
        }
    } else {
        for (int32_t i = 0; i < inside; ++i) {
            for (int32_t j = 0; j < TINYRT_LANES; ++j) {
                const int32_t oc = c + j < p->y.c ? c + j : c;
                *scratch++ = x[oc / multiplier];
            }
            x += p->x_point_step;
        }
    }
    tinyrt_mve_fill(scratch, (int8_t)p->x_zp, (behind - inside) * TINYRT_LANES);
}

/** Output lines [first, first + count) of one block of channels. */
static void band(const tinyrt_depthwise_conv2d_s8_params *p, const tinyrt_block *block, int32_t c,
                 int32_t first, int32_t count, const int8_t *x, int8_t *scratch, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int32_t extent = (window->kernel_h - 1) * window->dilation_h + 1;
    const int32_t lines = (count - 1) * window->stride_h + extent;
    const int32_t top = first * window->stride_h - window->pad_top;
    const int32_t points = block->line_bytes / TINYRT_LANES;
    for (int32_t i = 0; i < lines; ++i) {
        int8_t *const copy = scratch + i * block->line_bytes;
        if (top + i >= 0 && top + i < p->x.h) {
            copy_line(p, block->shared.lanes, c, x + (top + i) * p->x_line_step, points, copy);
        } else {
            tinyrt_mve_fill(copy, (int8_t)p->x_zp, block->line_bytes);
        }
    }
    for (int32_t i = 0; i < count; ++i) {
        const int8_t *const start = scratch + i * window->stride_h * block->line_bytes;
        int8_t *const out = y + (first + i) * p->y_line_step + c;
        output_line(p, block, start, out);
    }
}

void tinyrt_depthwise_conv2d_s8(const tinyrt_depthwise_conv2d_s8_params *p, const int8_t *x,
                                const int8_t *w, const int32_t *bias, int8_t *scratch,
                                int8_t *TINYRT_RESTRICT y) {
    const tinyrt_window *window = &p->window;
    const int32_t taps_count = window->kernel_h * window->kernel_w;
    const int32_t points =
        (p->y.w - 1) * window->stride_w + (window->kernel_w - 1) * window->dilation_w + 1;
    tinyrt_block block;
    block.line_bytes = points * TINYRT_LANES;
    block.shared.y_zp = p->requant.y_zp;
    block.shared.act_min = vdupq_n_s16((int16_t)p->requant.act_min);
    block.shared.act_max = vdupq_n_s16((int16_t)p->requant.act_max);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t c = 0; c < p->y.c; c += TINYRT_LANES) {
            block.w = w + c * taps_count;
            block.bias = bias + c;
            block.shared.lanes = vctp16q((uint32_t)(p->y.c - c));
            load_requant(p, c, &block.shared);
            for (int32_t first = 0; first < p->y.h; first += p->band) {
                const int32_t rest = p->y.h - first;
                band(p, &block, c, first, rest < p->band ? rest : p->band, x, scratch, y);
            }
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}
