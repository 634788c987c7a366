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

/** A strip or four channels of a pixel, from c on. */
static inline void tinyrt_strip_of(const tinyrt_depthwise_conv2d_f32_params *p,
                                   const tinyrt_channel_taps *taps, int32_t channels, int32_t c,
                                   int32_t filters, const float *x, const float *w,
                                   const float *bias, float *y) {
    static const float zeros[TINYRT_STRIP] = {0.0F};
    const float *from = (bias != NULL) ? (bias + c) : zeros;
    float sum[TINYRT_STRIP];
    if (taps->rows > 0) {
        if ((TINYRT_STRIP > TINYRT_QUAD) && (channels > TINYRT_QUAD)) {
            tinyrt_strip_taps(taps, x + c, w + c, from, sum);
        } else {
            tinyrt_quad_taps(taps, x + c, w + c, from, sum);
        }
        from = sum;
    }
    const int32_t quads = channels / TINYRT_QUAD;
    if (filters == 1) {
        tinyrt_quads_finish(from, quads, p->act_min, p->act_max, y + c, TINYRT_QUAD);
    } else {
        y += c * filters;
        tinyrt_quads_finish_apart(from, quads, p->act_min, p->act_max, y, filters);
    }
}

/** The taps of a pixel's channels. */
static inline tinyrt_channel_taps
tinyrt_channel_taps_of(const tinyrt_depthwise_conv2d_f32_params *p,
                       const tinyrt_area_of_taps *inside) {
    const int32_t channels = p->x.c;
    const int32_t x_tap = p->window.dilation_w * channels;
    const tinyrt_channel_taps taps = {
        .rows = inside->rows,
        .columns = inside->columns,
        .x_tap = x_tap,
        .x_next = (p->window.dilation_h * p->x.w * channels) - (inside->columns * x_tap),
        .w_tap = channels,
        .w_next = (p->window.kernel_w - inside->columns) * channels,
    };
    return taps;
}

/** One filter of all channels of a pixel, of which x and w are the first taps; the last four
 * overlap others where fewer are left. */
static inline void tinyrt_strips_of(const tinyrt_depthwise_conv2d_f32_params *p,
                                    const tinyrt_channel_taps *taps, int32_t filters,
                                    const float *x, const float *w, const float *bias, float *y) {
    const int32_t channels = p->x.c;
    int32_t c = 0;
    for (; (TINYRT_STRIP > TINYRT_QUAD) && (c + TINYRT_STRIP <= channels); c += TINYRT_STRIP) {
        tinyrt_strip_of(p, taps, TINYRT_STRIP, c, filters, x, w, bias, y);
    }
    for (; c < channels; c += TINYRT_QUAD) {
        const int32_t first = (c + TINYRT_QUAD <= channels) ? c : (channels - TINYRT_QUAD);
        tinyrt_strip_of(p, taps, TINYRT_QUAD, first, filters, x, w, bias, y);
    }
}

#endif
