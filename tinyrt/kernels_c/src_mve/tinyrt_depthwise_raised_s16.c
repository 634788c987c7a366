#include "tinyrt_depthwise_wide.h"

#include "tinyrt_mve_raised_s16.h"
#include "tinyrt_taps.h"
#include "tinyrt_window_taps.h"

/** Sums of four channels over a window's taps; x and w point at the first one. */
static inline int32x4_t four_sums(const tinyrt_window_taps *taps, const int16_t *x,
                                  const int8_t *w) {
    int32x4_t sums = vdupq_n_s32(0);
    for (int32_t rows = taps->rows; rows > 0; --rows, x += taps->x_row, w += taps->w_row) {
        const int16_t *x_tap = x;
        const int8_t *w_tap = w;
        for (int32_t left = taps->columns; left > 0; --left) {
            sums = vaddq_s32(sums, vmulq_s32(vldrhq_s32(x_tap), vldrbq_s32(w_tap)));
            x_tap += taps->x_step;
            w_tap += taps->w_step;
        }
    }
    return sums;
}

void tinyrt_depthwise_raised_s16(const tinyrt_depthwise_raised_s16_params *p, const int16_t *x,
                                 const int8_t *w, const int32_t *bias, int16_t *TINYRT_RESTRICT y) {
    const tinyrt_window *const window = &p->window;
    const int32_t row = p->x.w * p->x.c;
    tinyrt_window_taps taps;
    taps.x_row = window->dilation_h * row;
    taps.x_step = window->dilation_w * p->x.c;
    taps.w_row = window->kernel_w * p->y.c;
    taps.w_step = p->y.c;
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * row) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = (oy * window->stride_h) - window->pad_top;
            const tinyrt_range ky =
                tinyrt_taps_inside(y0, p->x.h, window->kernel_h, window->dilation_h);
            const int16_t *const x_rows = x + ((y0 + (ky.begin * window->dilation_h)) * row);
            const int8_t *const w_rows = w + (ky.begin * taps.w_row);
            taps.rows = ky.end - ky.begin;
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const int32_t x0 = (ox * window->stride_w) - window->pad_left;
                const tinyrt_range kx =
                    tinyrt_taps_inside(x0, p->x.w, window->kernel_w, window->dilation_w);
                const int16_t *x_first = x_rows + ((x0 + (kx.begin * window->dilation_w)) * p->x.c);
                const int8_t *w_first = w_rows + (kx.begin * taps.w_step);
                taps.columns = kx.end - kx.begin;
                for (int32_t c = 0; c < p->y.c; c += 4, x_first += 4, w_first += 4, y += 4) {
                    const int32x4_t sums = four_sums(&taps, x_first, w_first);
                    tinyrt_mve_raised_s16(&p->raised, bias, c, sums, vctp32q(4), y);
                }
            }
        }
    }
}
