/** What one output position of a convolution reads. */
#ifndef TINYRT_FOOTPRINT_H
#define TINYRT_FOOTPRINT_H

#include "tinyrt_taps.h"
#include "tinyrt_types.h"

/** Rows of runs of consecutive elements, of x and of a filter. */
typedef struct {
    int32_t rows;
    int32_t runs;
    int32_t run_length;
    int32_t x_start;
    int32_t x_row_step;
    int32_t x_run_step;
    int32_t w_start;
    int32_t w_row_step;
    int32_t w_run_step;
} tinyrt_footprint;

/** The footprint of output (oy, ox), of c_in channels of an image x. */
static inline tinyrt_footprint tinyrt_footprint_of(const tinyrt_nhwc *x,
                                                   const tinyrt_window *window, int32_t c_in,
                                                   int32_t oy, int32_t ox) {
    const int32_t y0 = (oy * window->stride_h) - window->pad_top;
    const int32_t x0 = (ox * window->stride_w) - window->pad_left;
    const tinyrt_range ky = tinyrt_taps_inside(y0, x->h, window->kernel_h, window->dilation_h);
    const tinyrt_range kx = tinyrt_taps_inside(x0, x->w, window->kernel_w, window->dilation_w);
    const int32_t columns = kx.end - kx.begin;
    /* Neighbouring taps are neighbours in memory: a whole row of the window is one run. */
    const int contiguous = (window->dilation_w == 1) && (c_in == x->c);
    const int32_t row = y0 + (ky.begin * window->dilation_h);
    const int32_t column = x0 + (kx.begin * window->dilation_w);
    const tinyrt_footprint f = {
        .rows = ky.end - ky.begin,
        .runs = contiguous ? 1 : columns,
        .run_length = contiguous ? (columns * c_in) : c_in,
        .x_start = ((row * x->w) + column) * x->c,
        .x_row_step = window->dilation_h * x->w * x->c,
        .x_run_step = window->dilation_w * x->c,
        .w_start = ((ky.begin * window->kernel_w) + kx.begin) * c_in,
        .w_row_step = window->kernel_w * c_in,
        .w_run_step = c_in,
    };
    return f;
}

#endif
