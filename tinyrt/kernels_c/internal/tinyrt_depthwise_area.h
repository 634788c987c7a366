/** Which taps of a depthwise layer of floats lie inside the image. */
#ifndef TINYRT_DEPTHWISE_AREA_H
#define TINYRT_DEPTHWISE_AREA_H

#include "tinyrt_taps.h"
#include "tinyrt_window_params.h"

/** The taps of a pixel inside the image: x and w begin with the first. */
typedef struct {
    int32_t rows;
    int32_t columns;
    const float *x;
    const float *w;
} tinyrt_area_of_taps;

/** The taps of a pixel's row of outputs, from the first on that may lie inside the image; weights
 * of neighbouring taps are w_tap apart. */
static inline tinyrt_area_of_taps tinyrt_rows_of(const tinyrt_depthwise_conv2d_f32_params *p,
                                                 int32_t oy, const float *x, const float *w,
                                                 int32_t w_tap) {
    const tinyrt_window *window = &p->window;
    const int32_t y0 = (oy * window->stride_h) - window->pad_top;
    const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, window->dilation_h);
    const tinyrt_area_of_taps inside = {
        .rows = ky.end - ky.begin,
        .columns = window->kernel_w,
        .x = x + ((y0 + (ky.begin * window->dilation_h)) * p->x.w * p->x.c),
        .w = w + (ky.begin * window->kernel_w * w_tap),
    };
    return inside;
}

/** The taps of one of its pixels. */
static inline tinyrt_area_of_taps tinyrt_taps_of(const tinyrt_depthwise_conv2d_f32_params *p,
                                                 const tinyrt_area_of_taps *row, int32_t ox,
                                                 int32_t w_tap) {
    const tinyrt_window *window = &p->window;
    const int32_t x0 = (ox * window->stride_w) - window->pad_left;
    const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, window->dilation_w);
    const tinyrt_area_of_taps inside = {
        .rows = (kx.end > kx.begin) ? row->rows : 0,
        .columns = kx.end - kx.begin,
        .x = row->x + ((x0 + (kx.begin * window->dilation_w)) * p->x.c),
        .w = row->w + (kx.begin * w_tap),
    };
    return inside;
}

#endif
