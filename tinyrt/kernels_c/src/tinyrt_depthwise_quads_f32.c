#include "tinyrt_depthwise_conv2d_float.h"

#include "tinyrt_float_tile.h"
#include "tinyrt_taps.h"

/** Channels at once, where a strip's are not left. */
#define QUAD 4

/** The taps of a pixel inside the image: x and w begin with the first. */
typedef struct {
    int32_t rows;
    int32_t columns;
    const float *x;
    const float *w;
} area;

/** The taps of a pixel's row of outputs, from the first on that may lie inside the image. */
static area rows_of(const tinyrt_depthwise_conv2d_f32_params *p, int32_t oy, const float *x,
                    const float *w) {
    const tinyrt_window *window = &p->window;
    const int32_t y0 = (oy * window->stride_h) - window->pad_top;
    const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, window->dilation_h);
    const area inside = {
        .rows = ky.end - ky.begin,
        .columns = window->kernel_w,
        .x = x + ((y0 + (ky.begin * window->dilation_h)) * p->x.w * p->x.c),
        .w = w + (ky.begin * window->kernel_w * p->y.c),
    };
    return inside;
}

/** The taps of one of its pixels. */
static area taps_of(const tinyrt_depthwise_conv2d_f32_params *p, const area *row, int32_t ox) {
    const tinyrt_window *window = &p->window;
    const int32_t x0 = (ox * window->stride_w) - window->pad_left;
    const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, window->dilation_w);
    const area inside = {
        .rows = (kx.end > kx.begin) ? row->rows : 0,
        .columns = kx.end - kx.begin,
        .x = row->x + ((x0 + (kx.begin * window->dilation_w)) * p->x.c),
        .w = row->w + (kx.begin * p->y.c),
    };
    return inside;
}

/** A strip or four channels of a pixel, from oc on. */
static inline void channels_of(const tinyrt_depthwise_conv2d_f32_params *p, const area *inside,
                               int32_t channels, int32_t oc, const float *bias, float *y) {
    static const float zeros[TINYRT_STRIP] = {0.0F};
    const int32_t columns = inside->columns;
    const int32_t w_tap = p->y.c;
    const int32_t x_tap = p->window.dilation_w * w_tap;
    const int32_t x_row_step = p->window.dilation_h * p->x.w * w_tap;
    const int32_t w_row_step = p->window.kernel_w * w_tap;
    const float *x = inside->x + oc;
    const float *w = inside->w + oc;
    const float *from = (bias != NULL) ? (bias + oc) : zeros;
    float sum[TINYRT_STRIP];
    for (int32_t row = inside->rows; row > 0; --row, x += x_row_step, w += w_row_step) {
        if ((TINYRT_STRIP > QUAD) && (channels > QUAD)) {
            tinyrt_strip_taps(x, x_tap, w, w_tap, columns, from, sum);
        } else {
            tinyrt_quad_taps(x, x_tap, w, w_tap, columns, from, sum);
        }
        from = sum;
    }
    tinyrt_quads_finish(from, channels / QUAD, p->act_min, p->act_max, y + oc, QUAD);
}

/** All channels of a pixel; the last four overlap others where fewer are left. */
static void all_channels(const tinyrt_depthwise_conv2d_f32_params *p, const area *inside,
                         const float *bias, float *y) {
    const int32_t channels = p->y.c;
    int32_t oc = 0;
    for (; (TINYRT_STRIP > QUAD) && (oc + TINYRT_STRIP <= channels); oc += TINYRT_STRIP) {
        channels_of(p, inside, TINYRT_STRIP, oc, bias, y);
    }
    for (; oc < channels; oc += QUAD) {
        const int32_t first = (oc + QUAD <= channels) ? oc : (channels - QUAD);
        channels_of(p, inside, QUAD, first, bias, y);
    }
}

void tinyrt_depthwise_quads_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                                const float *w, const float *bias, float *y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const area row = rows_of(p, oy, x, w);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const area inside = taps_of(p, &row, ox);
                all_channels(p, &inside, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
