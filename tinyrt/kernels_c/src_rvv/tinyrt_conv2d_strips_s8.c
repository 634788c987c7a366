#include "tinyrt_strips.h"

#include "tinyrt_strip.h"
#include "tinyrt_strip_window.h"

/** The outputs of a row of the image x. */
static void convolve_row(const tinyrt_conv2d_strips_s8_params *p, const int8_t *x, int32_t oy,
                         const int8_t *w, int8_t *scratch, int8_t *y) {
    tinyrt_strips copied = p->strips;
    copied.run = p->strips.rows * p->strips.run;
    copied.rows = 1;
    copied.gap = 0;
    for (int32_t ox = 0, count = 0; ox < p->y.w; ox += count, y += count * p->y.c) {
        count = tinyrt_strip_count(&copied, p->y.w - ox);
        tinyrt_strip_pixels at = {scratch, copied.run, y};
        const tinyrt_strips *strips = &copied;
        if (p->in_place != 0 && tinyrt_windows_inside(p, oy, ox, count)) {
            strips = &p->strips;
            at.x = x + tinyrt_window_place(p, oy, ox);
            at.x_step = p->window.stride_w * p->x.c;
        } else {
            for (int32_t i = 0; i < count; ++i) {
                tinyrt_copy_window(p, x, oy, ox + i, scratch + (i * copied.run));
            }
        }
        tinyrt_strips_of(strips, count, w, at);
    }
}

void tinyrt_conv2d_strips_s8(const tinyrt_conv2d_strips_s8_params *p, const int8_t *x,
                             const int8_t *w, int8_t *scratch, int8_t *y) {
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * p->x.w * p->x.c) {
        for (int32_t oy = 0; oy < p->y.h; ++oy, y += p->y.w * p->y.c) {
            convolve_row(p, x, oy, w, scratch, y);
        }
    }
}
