#include "tinyrt_depthwise_conv2d_float.h"

#include "tinyrt_depthwise_strips.h"

/** All filters of a pixel's channels, one after the other. */
static void all_filters(const tinyrt_depthwise_conv2d_f32_params *p,
                        const tinyrt_area_of_taps *inside, const float *bias, float *y) {
    const int32_t filters = p->y.c / p->x.c;
    const int32_t filter_size = p->window.kernel_h * p->window.kernel_w * p->x.c;
    const tinyrt_channel_taps taps = tinyrt_channel_taps_of(p, inside);
    const float *w = inside->w;
    for (const float *const end = y + filters; y != end; ++y, w += filter_size) {
        tinyrt_strips_of(p, &taps, filters, inside->x, w, bias, y);
        bias = (bias != NULL) ? (bias + p->x.c) : NULL;
    }
}

void tinyrt_depthwise_turns_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                                const float *w, const float *bias, float *y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const tinyrt_area_of_taps row = tinyrt_rows_of(p, oy, x, w, p->x.c);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const tinyrt_area_of_taps inside = tinyrt_taps_of(p, &row, ox, p->x.c);
                all_filters(p, &inside, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
