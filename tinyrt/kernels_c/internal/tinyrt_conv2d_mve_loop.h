/** Convolutions on cores with MVE, as the function TINYRT_KERNEL with TINYRT_PRODUCT over weights
 * of TINYRT_WEIGHT_BITS, which are set where this is included, with the type TINYRT_WEIGHT that
 * they are read by, where it is not int8_t. */
#ifndef TINYRT_CONV2D_MVE_LOOP_H
#define TINYRT_CONV2D_MVE_LOOP_H

#include "tinyrt_mve_windows.h"

#ifndef TINYRT_WEIGHT
#define TINYRT_WEIGHT int8_t
#endif

/** One group: its weights, and the first of its channels. */
typedef struct {
    tinyrt_product_s8_params product;
    const int8_t *x;
    const TINYRT_WEIGHT *w;
    const int32_t *scales;
    int8_t *y;
} tinyrt_group;

/** One output line, some of its points at once. */
static void tinyrt_output_line(const tinyrt_conv2d_s8_params *p, const tinyrt_group *g,
                               int32_t line, tinyrt_points *points, int8_t *scratch) {
    const tinyrt_window *window = &p->window;
    const int32_t stride = window->stride_w;
    int8_t *const y = g->y + (line * p->y_line_step);
    for (int32_t first = 0; first < p->y.w; first += p->at_once) {
        const int32_t left = p->y.w - first;
        const int32_t count = (left < p->at_once) ? left : p->at_once;
        tinyrt_copy_windows(p, points, g->x, line, (first * stride) - window->pad_left,
                            ((count - 1) * stride) + window->kernel_w, scratch);
        TINYRT_PRODUCT(&g->product, scratch, stride * points->copy_step, count, g->w, g->scales,
                       y + (first * p->y_point_step), p->y_point_step);
    }
}

/** The whole output where the window is one element. Where the output may lie on the input, some
 *  pixels at once are copied first. */
static void tinyrt_pointwise(const tinyrt_conv2d_s8_params *p, const tinyrt_group *g,
                             int8_t *scratch) {
    const tinyrt_window *window = &p->window;
    const int whole = (window->stride_h == 1) && (window->stride_w == 1);
    const int32_t lines = whole ? 1 : p->y.h;
    const int32_t points = whole ? (p->y.h * p->y.w) : p->y.w;
    const int32_t x_step = window->stride_w * p->x_point_step;
    for (int32_t line = 0; line < lines; ++line) {
        const int8_t *x = g->x + (line * window->stride_h * p->x_line_step);
        int8_t *y = g->y + (line * p->y_line_step);
        for (int32_t left = points; left > 0; left -= p->at_once) {
            const int32_t count = (left < p->at_once) ? left : p->at_once;
            if (scratch != NULL) {
                tinyrt_mve_copy(scratch, x, count * x_step);
            }
            TINYRT_PRODUCT(&g->product, (scratch != NULL) ? scratch : x, x_step, count, g->w,
                           g->scales, y, p->y_point_step);
            x += p->at_once * x_step;
            y += p->at_once * p->y_point_step;
        }
    }
}

static void tinyrt_conv2d_image(const tinyrt_conv2d_s8_params *p, const tinyrt_group *g,
                                int8_t *scratch) {
    if ((p->window.kernel_h * p->window.kernel_w) == 1) {
        tinyrt_pointwise(p, g, scratch);
        return;
    }
    const int32_t c_in = p->x.c / p->groups;
    const int32_t copy_step = p->window.kernel_h * c_in;
    tinyrt_points points = {.x_step = p->window.dilation_w * p->x_point_step,
                            .copy_step = copy_step,
                            .spread_bytes = c_in};
    if (c_in <= TINYRT_SMALL_POINT) {
        points.spread = tinyrt_places_of(c_in, copy_step);
    }
    for (int32_t line = 0; line < p->y.h; ++line) {
        tinyrt_output_line(p, g, line, &points, scratch);
    }
}

void TINYRT_KERNEL(const tinyrt_conv2d_s8_params *p, const int8_t *x, const TINYRT_WEIGHT *w,
                   const int32_t *scales, int8_t *scratch, int8_t *y) {
    const int32_t c_out = p->product.c_out;
    const int32_t packed_c_out = (c_out + 3) & ~3;
    const int32_t packed_length = (p->product.length + TINYRT_VECTOR - 1) & ~(TINYRT_VECTOR - 1);
    for (int32_t n = 0; n < p->y.n; ++n) {
        tinyrt_group g = {.product = p->product, .x = x, .w = w, .scales = scales, .y = y};
        for (int32_t i = 0; i < p->groups; ++i) {
            tinyrt_conv2d_image(p, &g, scratch);
            g.x += p->x.c / p->groups;
            g.w += packed_c_out * packed_length * TINYRT_WEIGHT_BITS / 8;
            g.scales += packed_c_out / 4 * TINYRT_SCALE_WORDS;
            g.y += c_out;
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}

#endif
