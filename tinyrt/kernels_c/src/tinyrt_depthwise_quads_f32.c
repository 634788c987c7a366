#include "tinyrt_depthwise_conv2d_float.h"

#include "tinyrt_depthwise_area.h"
#include "tinyrt_float_tile.h"

/** Channels at once, where a strip's are not left. */
#define QUAD 4

/** A strip or four channels of a pixel, from oc on. */
static inline void channels_of(const tinyrt_depthwise_conv2d_f32_params *p,
                               const tinyrt_area_of_taps *inside, int32_t channels, int32_t oc,
                               const float *bias, float *y) {
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
static void all_channels(const tinyrt_depthwise_conv2d_f32_params *p,
                         const tinyrt_area_of_taps *inside, const float *bias, float *y) {
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
            const tinyrt_area_of_taps row = tinyrt_rows_of(p, oy, x, w);
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const tinyrt_area_of_taps inside = tinyrt_taps_of(p, &row, ox);
                all_channels(p, &inside, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
