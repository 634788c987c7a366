/** Windows of an image: where they lie in it, and copies of those that reach beyond it. */
#ifndef TINYRT_STRIP_WINDOW_H
#define TINYRT_STRIP_WINDOW_H

#include "tinyrt_strips.h"
#include "tinyrt_vectors.h"

static inline void tinyrt_copy_bytes(const int8_t *x, int32_t count, int8_t *y) {
#ifdef TINYRT_VECTORS
    __asm volatile("1:\n"
                   "vsetvli t0, %[count], e8, m8, ta, ma\n"
                   "vle8.v v0, (%[x])\n"
                   "vse8.v v0, (%[y])\n"
                   "sub %[count], %[count], t0\n"
                   "add %[x], %[x], t0\n"
                   "add %[y], %[y], t0\n"
                   "bnez %[count], 1b\n"
                   : [x] "+r"(x), [y] "+r"(y), [count] "+r"(count)
                   :
                   : "t0", "memory" TINYRT_CLOBBERED);
#else
    for (int32_t i = 0; i < count; ++i) {
        y[i] = x[i];
    }
#endif
}

static inline void tinyrt_fill_bytes(int32_t value, int32_t count, int8_t *y) {
#ifdef TINYRT_VECTORS
    __asm volatile("vsetvli t0, zero, e8, m8, ta, ma\n"
                   "vmv.v.x v0, %[value]\n"
                   "1:\n"
                   "vsetvli t0, %[count], e8, m8, ta, ma\n"
                   "vse8.v v0, (%[y])\n"
                   "sub %[count], %[count], t0\n"
                   "add %[y], %[y], t0\n"
                   "bnez %[count], 1b\n"
                   : [y] "+r"(y), [count] "+r"(count)
                   : [value] "r"(value)
                   : "t0", "memory" TINYRT_CLOBBERED);
#else
    for (int32_t i = 0; i < count; ++i) {
        y[i] = (int8_t)value;
    }
#endif
}

/** Where the window of the output at (oy, ox) begins in an image; it may lie before it. */
static inline int32_t tinyrt_window_place(const tinyrt_conv2d_strips_s8_params *p, int32_t oy,
                                          int32_t ox) {
    const int32_t iy = (oy * p->window.stride_h) - p->window.pad_top;
    const int32_t ix = (ox * p->window.stride_w) - p->window.pad_left;
    return ((iy * p->x.w) + ix) * p->x.c;
}

/** Whether the windows of count outputs from (oy, ox) on lie in the image. */
static inline int32_t tinyrt_windows_inside(const tinyrt_conv2d_strips_s8_params *p, int32_t oy,
                                            int32_t ox, int32_t count) {
    const tinyrt_window *const window = &p->window;
    const int32_t top = (oy * window->stride_h) - window->pad_top;
    const int32_t left = (ox * window->stride_w) - window->pad_left;
    const int32_t last = left + ((count - 1) * window->stride_w);
    return top >= 0 && left >= 0 && top + ((window->kernel_h - 1) * window->dilation_h) < p->x.h &&
           last + ((window->kernel_w - 1) * window->dilation_w) < p->x.w;
}

/** Copy taps [0, kernel_w) of a row of the image, of which the first lies at column ix. */
static inline int8_t *tinyrt_copy_taps(const tinyrt_conv2d_strips_s8_params *p, const int8_t *row,
                                       int32_t ix, int8_t *to) {
    const int32_t step = p->window.dilation_w;
    for (int32_t left = p->window.kernel_w; left > 0;) {
        const int32_t is_inside = ix >= 0 && ix < p->x.w;
        int32_t count = 1;
        if (step == 1) {
            count = is_inside ? p->x.w - ix : ix < 0 ? -ix : left;
            count = count < left ? count : left;
        }
        if (is_inside) {
            tinyrt_copy_bytes(row + (ix * p->x.c), count * p->x.c, to);
        } else {
            tinyrt_fill_bytes(p->x_zp, count * p->x.c, to);
        }
        to += count * p->x.c;
        ix += count * step;
        left -= count;
    }
    return to;
}

/** Copy the window of the output at (oy, ox) of the image x; what lies beyond it is x_zp. */
static inline void tinyrt_copy_window(const tinyrt_conv2d_strips_s8_params *p, const int8_t *x,
                                      int32_t oy, int32_t ox, int8_t *to) {
    const tinyrt_window *const window = &p->window;
    const int32_t size = window->kernel_w * p->x.c;
    const int32_t ix = (ox * window->stride_w) - window->pad_left;
    int32_t iy = (oy * window->stride_h) - window->pad_top;
    for (int32_t ky = 0; ky < window->kernel_h; ++ky, iy += window->dilation_h) {
        if (iy >= 0 && iy < p->x.h) {
            to = tinyrt_copy_taps(p, x + (iy * p->x.w * p->x.c), ix, to);
        } else {
            tinyrt_fill_bytes(p->x_zp, size, to);
            to += size;
        }
    }
}

#endif
