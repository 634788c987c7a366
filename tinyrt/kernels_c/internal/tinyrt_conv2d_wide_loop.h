/** Convolutions of int16, pixel by pixel, as the function TINYRT_KERNEL, which is set where this is
 * included: TINYRT_WIDE_PARAMS is the type of its parameters, TINYRT_WIDE_W that of weights,
 * TINYRT_WIDE_BIAS that of biases, and tinyrt_wide_group, defined before, sets the outputs of a
 * column's group of channels, of which it gets the first, and returns the end of w. */
#ifndef TINYRT_CONV2D_WIDE_LOOP_H
#define TINYRT_CONV2D_WIDE_LOOP_H

#include "tinyrt_conv2d_wide.h"
#include "tinyrt_copy.h"

/** Copies count elements; returns where the copy ends. */
static inline int16_t *tinyrt_copy_elements(const int16_t *from, int32_t count, int16_t *to) {
    int16_t *const end = to + count;
    if (TINYRT_COPY_BYTES > 1) {
        (void)tinyrt_copy((const int8_t *)from, (const int8_t *)end, (int8_t *)to);
        return end;
    }
    while (to != end) {
        TINYRT_SHORT_LOOP;
        *to++ = *from++;
    }
    return to;
}

/** Zeros up to end, which is returned. */
static inline int16_t *tinyrt_clear_elements(int16_t *end, int16_t *to) {
    while (to != end) {
        TINYRT_SHORT_LOOP;
        *to++ = 0;
    }
    return to;
}

/** What the window of output (oy, ox) reads of c_in channels from x on, with zeros around it. */
static void tinyrt_wide_column(const TINYRT_WIDE_PARAMS *p, const int16_t *x, int32_t c_in,
                               int32_t oy, int32_t ox, int16_t *column) {
    const tinyrt_window *window = &p->window;
    int16_t *const end = column + p->taps;
    int32_t row = (oy * window->stride_h) - window->pad_top;
    for (int32_t ky = 0; ky < window->kernel_h; ++ky, row += window->dilation_h) {
        int32_t col = (ox * window->stride_w) - window->pad_left;
        for (int32_t kx = 0; kx < window->kernel_w; ++kx, col += window->dilation_w) {
            const int inside = (row >= 0) && (row < p->x.h) && (col >= 0) && (col < p->x.w);
            if (inside != 0) {
                column = tinyrt_copy_elements(x + (((row * p->x.w) + col) * p->x.c), c_in, column);
            } else {
                column = tinyrt_clear_elements(column + c_in, column);
            }
        }
    }
    (void)tinyrt_clear_elements(end, column);
}

static void tinyrt_wide_pixel(const TINYRT_WIDE_PARAMS *p, const int16_t *x, const TINYRT_WIDE_W *w,
                              const TINYRT_WIDE_BIAS *bias, int32_t oy, int32_t ox, int16_t *column,
                              int16_t *y) {
    const int32_t c_in = p->x.c / p->groups;
    if (p->direct != 0) {
        const int32_t pixel = (oy * p->window.stride_h * p->x.w) + (ox * p->window.stride_w);
        (void)tinyrt_wide_group(p, x + (pixel * c_in), w, bias, 0, y);
        return;
    }
    for (int32_t group = 0; group < p->groups; ++group) {
        tinyrt_wide_column(p, x + (group * c_in), c_in, oy, ox, column);
        w = tinyrt_wide_group(p, column, w, bias, group * (p->y.c / p->groups), y);
    }
}

void TINYRT_KERNEL(const TINYRT_WIDE_PARAMS *p, const int16_t *x, const TINYRT_WIDE_W *w,
                   const TINYRT_WIDE_BIAS *bias, int16_t *column, int16_t *TINYRT_RESTRICT y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                tinyrt_wide_pixel(p, x, w, bias, oy, ox, column, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}

#endif
