#include "tinyrt_conv2d_wide.h"

#include "tinyrt_row16.h"
#include "tinyrt_simd.h"

static inline int16_t output_of(const tinyrt_raised_s16 *p, int32_t acc, int32_t mult) {
    return (int16_t)tinyrt_clamp(tinyrt_high_mul(acc, mult), p->act_min, p->act_max);
}

static const int32_t *tinyrt_wide_group(const tinyrt_conv2d_raised_s16_params *p,
                                        const int16_t *column, const int32_t *w,
                                        const int32_t *bias, int32_t oc, int16_t *y) {
    const tinyrt_row16 row = tinyrt_row16_of(column, p->taps);
    const tinyrt_raised_s16 raised = p->raised;
    const int32_t end = oc + (p->y.c / p->groups);
    const int32_t *mult = raised.mult + (oc * raised.mult_step);
    bias += oc * raised.bias_step;
    y += oc;
    for (; oc < end; oc += 4, y += 4) {
        int32_t sum[4];
        w = tinyrt_dot_row16(w, &row, sum);
        for (int32_t i = 0; (i < 4) && (i < (end - oc)); ++i) {
            y[i] = output_of(&raised, sum[i] + bias[i], mult[i]);
        }
        mult += 4 * raised.mult_step;
        bias += 4 * raised.bias_step;
    }
    return w;
}

#define TINYRT_KERNEL tinyrt_conv2d_block_s16
#define TINYRT_WIDE_PARAMS tinyrt_conv2d_raised_s16_params
#define TINYRT_WIDE_W int32_t
#define TINYRT_WIDE_BIAS int32_t
#include "tinyrt_conv2d_wide_loop.h"
