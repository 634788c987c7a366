/** A pooling, as the function TINYRT_KERNEL, where this is included. TINYRT_ONE_OUTPUT(area, x, y)
 *  computes all channels of one output, of whose window x is the first element, by the parameters p
 *  and by what TINYRT_STATE declares. */
#ifndef TINYRT_WINDOWS_LOOP_H
#define TINYRT_WINDOWS_LOOP_H

void TINYRT_KERNEL(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y) {
    const tinyrt_window *const window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    TINYRT_STATE
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * row_step) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = (oy * window->stride_h) - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox, y += p->y.c) {
                const int32_t x0 = (ox * window->stride_w) - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                TINYRT_ASSERT(ky.begin < ky.end && kx.begin < kx.end);
                const tinyrt_area area = {ky.end - ky.begin, kx.end - kx.begin, row_step, p->x.c};
                TINYRT_ONE_OUTPUT(area, x + (y0 + ky.begin) * row_step + (x0 + kx.begin) * p->x.c,
                                  y);
            }
        }
    }
}

#endif
