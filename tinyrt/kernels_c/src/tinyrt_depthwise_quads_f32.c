#include "tinyrt_depthwise_conv2d_float.h"

#include "tinyrt_depthwise_strips.h"

void tinyrt_depthwise_quads_f32(const tinyrt_depthwise_conv2d_f32_params *p, const float *x,
                                const float *w, const float *bias, float *y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const tinyrt_area_of_taps row = tinyrt_rows_of(p, oy, x, w, p->x.c);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const tinyrt_area_of_taps inside = tinyrt_taps_of(p, &row, ox, p->x.c);
                const tinyrt_channel_taps taps = tinyrt_channel_taps_of(p, &inside);
                tinyrt_strips_of(p, &taps, 1, inside.x, inside.w, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
