#include "tinyrt_conv2d_wide.h"

#include "tinyrt_dot16.h"

static const int8_t *tinyrt_wide_group(const tinyrt_conv2d_s16_params *p, const int16_t *column,
                                       const int8_t *w, const int64_t *bias, int32_t oc,
                                       int16_t *y) {
    const tinyrt_requant_s16_params requant = p->requant;
    const int32_t end = oc + (p->y.c / p->groups);
    while (oc < end) {
        int64_t sum[4];
        w = tinyrt_dot16(w, column, p->taps, sum);
        for (int32_t i = 0; (i < 4) && (oc < end); ++i, ++oc) {
            const int64_t acc = sum[i] + ((bias != NULL) ? bias[oc] : 0);
            y[oc] = tinyrt_requant_s16(&requant, oc, acc);
        }
    }
    return w;
}

#define TINYRT_KERNEL tinyrt_conv2d_s16
#define TINYRT_WIDE_PARAMS tinyrt_conv2d_s16_params
#define TINYRT_WIDE_W int8_t
#define TINYRT_WIDE_BIAS int64_t
#include "tinyrt_conv2d_wide_loop.h"
