/** One filter of each channel of a depthwise layer of floats, a strip of channels at a time.
 * filters says how many a channel has: that is how far its outputs lie apart, and a constant where
 * it is 1.
 */
#ifndef TINYRT_DEPTHWISE_STRIPS_H
#define TINYRT_DEPTHWISE_STRIPS_H

#include "tinyrt_depthwise_area.h"
#include "tinyrt_float_tile.h"

/** Channels at once, where a strip's are not left. */
#define TINYRT_QUAD 4

/** Fours of sums, limited; their outputs are y_step apart one by one. */
static inline void tinyrt_finish_apart(const float *sum, int32_t quads, float low, float high,
                                       float *y, int32_t y_step) {
    float limited[TINYRT_STRIP];
    tinyrt_quads_finish(sum, quads, low, high, limited, TINYRT_QUAD);
    for (const float *from = limited; quads > 0; --quads, from += TINYRT_QUAD) {
        y[0] = from[0];
        y[y_step] = from[1];
        y += 2 * y_step;
        y[0] = from[2];
        y[y_step] = from[3];
        y += 2 * y_step;
    }
}

/** A strip or four channels of a pixel, from c on. */
static inline void tinyrt_strip_of(const tinyrt_depthwise_conv2d_f32_params *p,
                                   const tinyrt_area_of_taps *inside, int32_t channels, int32_t c,
                                   int32_t filters, const float *bias, float *y) {
    static const float zeros[TINYRT_STRIP] = {0.0F};
    const int32_t columns = inside->columns;
    const int32_t w_tap = p->x.c;
    const int32_t x_tap = p->window.dilation_w * w_tap;
    const int32_t x_row_step = p->window.dilation_h * p->x.w * w_tap;
    const int32_t w_row_step = p->window.kernel_w * w_tap;
    const float *x = inside->x + c;
    const float *w = inside->w + c;
    const float *from = (bias != NULL) ? (bias + c) : zeros;
    float sum[TINYRT_STRIP];
    for (int32_t row = inside->rows; row > 0; --row, x += x_row_step, w += w_row_step) {
        if ((TINYRT_STRIP > TINYRT_QUAD) && (channels > TINYRT_QUAD)) {
            tinyrt_strip_taps(x, x_tap, w, w_tap, columns, from, sum);
        } else {
            tinyrt_quad_taps(x, x_tap, w, w_tap, columns, from, sum);
        }
        from = sum;
    }
    const int32_t quads = channels / TINYRT_QUAD;
    if (filters == 1) {
        tinyrt_quads_finish(from, quads, p->act_min, p->act_max, y + c, TINYRT_QUAD);
    } else {
        tinyrt_finish_apart(from, quads, p->act_min, p->act_max, y + (c * filters), filters);
    }
}

/** All channels of a pixel; the last four overlap others where fewer are left. */
static inline void tinyrt_strips_of(const tinyrt_depthwise_conv2d_f32_params *p,
                                    const tinyrt_area_of_taps *inside, int32_t filters,
                                    const float *bias, float *y) {
    const int32_t channels = p->x.c;
    int32_t c = 0;
    for (; (TINYRT_STRIP > TINYRT_QUAD) && (c + TINYRT_STRIP <= channels); c += TINYRT_STRIP) {
        tinyrt_strip_of(p, inside, TINYRT_STRIP, c, filters, bias, y);
    }
    for (; c < channels; c += TINYRT_QUAD) {
        const int32_t first = (c + TINYRT_QUAD <= channels) ? c : (channels - TINYRT_QUAD);
        tinyrt_strip_of(p, inside, TINYRT_QUAD, first, filters, bias, y);
    }
}

#endif
