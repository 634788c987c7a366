#include "tinyrt_conv2d.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_taps.h"

/** What one output position reads: rows of runs of consecutive elements, of x and of a filter. */
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

static int32_t dot(const int8_t *x, const int8_t *w, int32_t length, int32_t x_zp) {
    int32_t sum = 0;
    for (int32_t i = 0; i < length; ++i) {
        sum += (x[i] - x_zp) * w[i];
    }
    return sum;
}

static int32_t accumulate(const tinyrt_footprint *f, const int8_t *x, const int8_t *w,
                          int32_t x_zp) {
    int32_t sum = 0;
    x += f->x_start;
    w += f->w_start;
    for (int32_t row = 0; row < f->rows; ++row) {
        for (int32_t run = 0; run < f->runs; ++run) {
            sum += dot(x + run * f->x_run_step, w + run * f->w_run_step, f->run_length, x_zp);
        }
        x += f->x_row_step;
        w += f->w_row_step;
    }
    return sum;
}

static tinyrt_footprint footprint(const tinyrt_conv2d_s8_params *p, int32_t oy, int32_t ox) {
    const tinyrt_window *window = &p->window;
    const int32_t c_in = p->x.c / p->groups;
    const int32_t y0 = oy * window->stride_h - window->pad_top;
    const int32_t x0 = ox * window->stride_w - window->pad_left;
    const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, window->dilation_h);
    const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, window->dilation_w);
    const int32_t columns = kx.end - kx.begin;
    /* Neighbouring taps are neighbours in memory: a whole row of the window is one run. */
    const int contiguous = window->dilation_w == 1 && p->groups == 1;
    const int32_t row = y0 + ky.begin * window->dilation_h;
    const int32_t column = x0 + kx.begin * window->dilation_w;
    const tinyrt_footprint f = {
        .rows = ky.end - ky.begin,
        .runs = contiguous ? 1 : columns,
        .run_length = contiguous ? columns * c_in : c_in,
        .x_start = (row * p->x.w + column) * p->x.c,
        .x_row_step = window->dilation_h * p->x.w * p->x.c,
        .x_run_step = window->dilation_w * p->x.c,
        .w_start = (ky.begin * window->kernel_w + kx.begin) * c_in,
        .w_row_step = window->kernel_w * c_in,
        .w_run_step = c_in,
    };
    return f;
}

static void all_channels(const tinyrt_conv2d_s8_params *p, const tinyrt_footprint *f,
                         const int8_t *x, const int8_t *w, const int32_t *bias, int8_t *y) {
    const int32_t c_in = p->x.c / p->groups;
    const int32_t c_out = p->y.c / p->groups;
    const int32_t filter_size = p->window.kernel_h * p->window.kernel_w * c_in;
    int32_t oc = 0;
    for (int32_t group = 0; group < p->groups; ++group) {
        for (int32_t i = 0; i < c_out; ++i, ++oc) {
            const int32_t sum = accumulate(f, x, w, p->x_zp);
            y[oc] = tinyrt_requant_channel(&p->requant, oc, sum + (bias != NULL ? bias[oc] : 0));
            w += filter_size;
        }
        x += c_in;
    }
}

void tinyrt_conv2d_s8(const tinyrt_conv2d_s8_params *p, const int8_t *x, const int8_t *w,
                      const int32_t *bias, int8_t *y) {
    TINYRT_ASSERT(p->x.c % p->groups == 0 && p->y.c % p->groups == 0);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const tinyrt_footprint f = footprint(p, oy, ox);
                all_channels(p, &f, x, w, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
