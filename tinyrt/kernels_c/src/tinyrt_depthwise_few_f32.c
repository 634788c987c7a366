#include "tinyrt_depthwise_conv2d_float.h"

#include "tinyrt_depthwise_strips.h"
#include "tinyrt_few_taps.h"

/** Pixels side by side, and the most channels. */
#define PIXELS 4
#define MOST 4

/** One of some filters, the sums that its pixels begin with, and which pixels of a row read all
 *  columns of the window: those from begin to end. */
typedef struct {
    const tinyrt_depthwise_conv2d_f32_params *p;
    const float *from;
    int32_t filters;
    int32_t begin;
    int32_t end;
} layer;

/** Where the first pixel with all columns is, and where they end. Columns that are dilated lie
 * apart: then no pixels share weights. */
static void set_span(layer *of) {
    const tinyrt_depthwise_conv2d_f32_params *p = of->p;
    const tinyrt_window *window = &p->window;
    const int32_t reach = window->kernel_w - 1 - window->pad_left;
    int32_t begin = 0;
    int32_t end = (window->dilation_w == 1) ? p->y.w : 0;
    while ((begin < end) && ((begin * window->stride_w) < window->pad_left)) {
        ++begin;
    }
    while ((end > begin) && ((((end - 1) * window->stride_w) + reach) >= p->x.w)) {
        --end;
    }
    of->begin = begin;
    of->end = end;
}

/** Four pixels side by side with all columns; y is the first output of the filter. */
static TINYRT_TILE_CALLER void four_pixels(const layer *of, const tinyrt_channel_taps *taps,
                                           const float *x, const float *w, float *y) {
    const tinyrt_depthwise_conv2d_f32_params *p = of->p;
    const float *from = of->from;
    const int32_t x_step = p->window.stride_w * p->x.c;
    float sum[PIXELS * MOST];
    if (taps->rows > 0) {
        switch (p->x.c) {
        case 1:
            tinyrt_few_taps(taps, 1, x_step, x, w, from, sum);
            break;
        case 2:
            tinyrt_few_taps(taps, 2, x_step, x, w, from, sum);
            break;
        case 3:
            tinyrt_few_taps(taps, 3, x_step, x, w, from, sum);
            break;
        default:
            tinyrt_few_taps(taps, MOST, x_step, x, w, from, sum);
            break;
        }
        from = sum;
    }
    if (of->filters == 1) {
        tinyrt_quads_finish(from, p->x.c, p->act_min, p->act_max, y, PIXELS);
    } else {
        tinyrt_quads_finish_apart(from, p->x.c, p->act_min, p->act_max, y, of->filters);
    }
}

/** A pixel by itself. */
static TINYRT_TILE_CALLER void one_pixel(const layer *of, const tinyrt_area_of_taps *row,
                                         int32_t ox, float *y) {
    const tinyrt_depthwise_conv2d_f32_params *p = of->p;
    const tinyrt_area_of_taps inside = tinyrt_taps_of(p, row, ox, p->x.c);
    const float *from = of->from;
    float sum[MOST];
    if (inside.rows > 0) {
        const tinyrt_channel_taps taps = tinyrt_channel_taps_of(p, &inside);
        switch (p->x.c) {
        case 1:
            tinyrt_few_of_pixel(&taps, 1, inside.x, inside.w, from, sum);
            break;
        case 2:
            tinyrt_few_of_pixel(&taps, 2, inside.x, inside.w, from, sum);
            break;
        case 3:
            tinyrt_few_of_pixel(&taps, 3, inside.x, inside.w, from, sum);
            break;
        default:
            tinyrt_quad_taps(&taps, inside.x, inside.w, from, sum);
            break;
        }
        from = sum;
    }
    for (int32_t c = 0; c < p->x.c; ++c, y += of->filters) {
        *y = tinyrt_clampf(from[c], p->act_min, p->act_max);
    }
}

/** A row of outputs. Where fewer than four pixels with all columns are left, the last four overlap
 *  others, unless there is one row alone: it may stand for a column, which
 * may lie on what it reads, pixel by pixel. */
static void row_of(const layer *of, const tinyrt_area_of_taps *row, float *y) {
    const tinyrt_depthwise_conv2d_f32_params *p = of->p;
    const tinyrt_channel_taps taps = tinyrt_channel_taps_of(p, row);
    const int32_t x_step = p->window.stride_w * p->x.c;
    const float *x = row->x - (p->window.pad_left * p->x.c);
    int32_t ox = 0;
    for (; ox < of->begin; ++ox, y += p->y.c) {
        one_pixel(of, row, ox, y);
    }
    while ((ox + PIXELS) <= of->end) {
        four_pixels(of, &taps, x + (ox * x_step), row->w, y);
        const int32_t left = of->end - ox - PIXELS;
        const int32_t step = ((left > 0) && (left < PIXELS) && (p->y.h > 1)) ? left : PIXELS;
        ox += step;
        y += step * p->y.c;
    }
    for (; ox < p->y.w; ++ox, y += p->y.c) {
        one_pixel(of, row, ox, y);
    }
}

/** A row of all filters, one after the other. */
static void filters_of(layer *of, tinyrt_area_of_taps row, const float *bias, float *y) {
    static const float zeros[PIXELS * MOST] = {0.0F};
    const tinyrt_depthwise_conv2d_f32_params *p = of->p;
    for (const float *const end = y + of->filters; y != end; ++y) {
        of->from = (bias != NULL) ? bias : zeros;
        row_of(of, &row, y);
        row.w += p->window.kernel_h * p->window.kernel_w * p->x.c;
        bias = (bias != NULL) ? (bias + (PIXELS * p->x.c)) : NULL;
    }
}

void tinyrt_depthwise_few_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                              const float *w, const float *bias, float *y) {
    layer of = {.p = p, .filters = p->y.c / p->x.c};
    set_span(&of);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            filters_of(&of, tinyrt_rows_of(p, oy, x, w, p->x.c), bias, y);
            y += p->y.w * p->y.c;
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
