#include "tinyrt_depthwise_wide_walk.h"

#include "tinyrt_quad16.h"

/** All channels of a pixel; x and w point at the first tap inside the input. */
static void all_quads(const tinyrt_depthwise_conv2d_s16_params *p, const tinyrt_window_taps *taps,
                      const int16_t *x, const int8_t *w, const int64_t *bias,
                      int16_t *TINYRT_RESTRICT y) {
    const tinyrt_requant_s16_params requant = p->requant;
    for (int32_t c = 0; c < p->y.c; c += 4) {
        int32_t sum[4];
        tinyrt_quad16(taps, x + c, w + c, sum);
        for (int32_t i = 0; i < 4; ++i) {
            const int64_t first = (bias != NULL) ? bias[c + i] : 0;
            y[c + i] = tinyrt_requant_s16(&requant, c + i, first + sum[i]);
        }
    }
}

void tinyrt_depthwise_quads_s16(const tinyrt_depthwise_conv2d_s16_params *p, const int16_t *input,
                                const int8_t *weights, const int64_t *bias,
                                int16_t *TINYRT_RESTRICT y) {
    TINYRT_DEPTHWISE_WIDE_WALK(p, input, weights, all_quads(p, &taps, x, w, bias, y); y += p->y.c);
}
