#include "tinyrt_depthwise_conv2d_float.h"

#include "tinyrt_depthwise_area.h"
#include "tinyrt_float_tile.h"

/** Channels at once, and those that share a channel of x. */
#define STRIP 16
#define QUAD 4

/** Sixteen channels of a pixel, from oc on, whose fours read these channels of x. */
static inline void strip(const tinyrt_depthwise_conv2d_f32_params *p,
                         const tinyrt_area_of_taps *inside, const int32_t channels[QUAD],
                         int32_t oc, const float *bias, float *y) {
    static const float zeros[STRIP] = {0.0F};
    const int32_t columns = inside->columns;
    const int32_t x_tap = p->window.dilation_w * p->x.c;
    const int32_t x_row_step = p->window.dilation_h * p->x.w * p->x.c;
    const int32_t w_tap = p->y.c;
    const int32_t w_row_step = p->window.kernel_w * w_tap;
    const float *x = inside->x;
    const float *w = inside->w + oc;
    const float *from = (bias != NULL) ? (bias + oc) : zeros;
    float sum[STRIP];
    for (int32_t row = inside->rows; row > 0; --row, x += x_row_step, w += w_row_step) {
        tinyrt_spread_taps(x, channels, x_tap, w, w_tap, columns, from, sum);
        from = sum;
    }
    tinyrt_quads_finish(from, STRIP / QUAD, p->act_min, p->act_max, y + oc, QUAD);
}

/** All channels of a pixel; a channel of x has 2^shift filters. */
static void all_channels(const tinyrt_depthwise_conv2d_f32_params *p,
                         const tinyrt_area_of_taps *inside, int32_t shift, const float *bias,
                         float *y) {
    for (int32_t oc = 0; oc < p->y.c; oc += STRIP) {
        const int32_t channels[QUAD] = {oc >> shift, (oc + 4) >> shift, (oc + 8) >> shift,
                                        (oc + 12) >> shift};
        strip(p, inside, channels, oc, bias, y);
    }
}

void tinyrt_depthwise_spread_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                                 const float *w, const float *bias, float *y) {
    int32_t shift = 2;
    while ((p->x.c << shift) < p->y.c) {
        ++shift;
    }
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const tinyrt_area_of_taps row = tinyrt_rows_of(p, oy, x, w, p->y.c);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const tinyrt_area_of_taps inside = tinyrt_taps_of(p, &row, ox, p->y.c);
                all_channels(p, &inside, shift, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
