#include "tinyrt_max_pool2d.h"

#include "tinyrt_mve.h"

/** The taps inside the input at one output position. */
typedef struct {
    int32_t rows;
    int32_t columns;
    int32_t row_step;
    int32_t step;
} tinyrt_taps_inside_x;

/** Sixteen channels of one output, or the lanes of them that there are. */
static int8x16_t largest(const tinyrt_taps_inside_x *taps, const int8_t *x, mve_pred16_t lanes) {
    int8x16_t most = vdupq_n_s8(INT8_MIN);
    for (int32_t ky = 0; ky < taps->rows; ++ky) {
        const int8_t *tap = x + (ky * taps->row_step);
        for (int32_t kx = taps->columns; kx > 0; --kx) {
            most = vmaxq_s8(most, vldrbq_z_s8(tap, lanes));
            tap += taps->step;
        }
    }
    return most;
}

void tinyrt_max_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    const int8x16_t act_min = vdupq_n_s8((int8_t)p->act_min);
    const int8x16_t act_max = vdupq_n_s8((int8_t)p->act_max);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = (oy * window->stride_h) - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const int32_t x0 = (ox * window->stride_w) - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                const int8_t *first = x + (y0 + ky.begin) * row_step + (x0 + kx.begin) * p->x.c;
                const tinyrt_taps_inside_x taps = {.rows = ky.end - ky.begin,
                                                   .columns = kx.end - kx.begin,
                                                   .row_step = row_step,
                                                   .step = p->x.c};
                TINYRT_ASSERT(taps.rows > 0 && taps.columns > 0);
                for (int32_t c = 0; c < p->y.c; c += TINYRT_VECTOR) {
                    const mve_pred16_t lanes = vctp8q((uint32_t)(p->y.c - c));
                    const int8x16_t most = largest(&taps, first + c, lanes);
                    vstrbq_p_s8(y + c, vminq_s8(vmaxq_s8(most, act_min), act_max), lanes);
                }
                y += p->y.c;
            }
        }
        x += p->x.h * row_step;
    }
}
