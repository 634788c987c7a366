/** SVDF as the function TINYRT_KERNEL over a state of TINYRT_STATE, of TINYRT_STATE_MIN to
 *  TINYRT_STATE_MAX, which are set where this is included. */
#ifndef TINYRT_SVDF_LOOP_H
#define TINYRT_SVDF_LOOP_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_svdf.h"

/** The feature of one filter: start (the zero point's share) and products with x, requantised. */
static int32_t tinyrt_feature_of(const tinyrt_svdf_s8_params *p, const int8_t *x, const int8_t *w,
                                 int32_t start) {
    int32_t acc = start;
    for (int32_t i = 0; i < p->c_in; ++i) {
        acc += x[i] * w[i];
    }
    return tinyrt_requant(acc, p->feature_mult, p->feature_shift);
}

/** Moves a row on; returns acc and its products with the time weights. Sums wrap, and features,
 *  whose zero point is added behind their limits, too. */
static uint32_t tinyrt_row_of_filter(const tinyrt_svdf_s8_params *p, int32_t feature,
                                     const TINYRT_STATE *time, const TINYRT_STATE *before,
                                     TINYRT_STATE *after, uint32_t acc) {
    const int32_t last = p->memory - 1;
    for (int32_t i = 0; i < last; ++i) {
        after[i] = before[i + 1];
    }
    after[last] =
        (TINYRT_STATE)(tinyrt_clamp(feature, TINYRT_STATE_MIN, TINYRT_STATE_MAX) + p->state_zp);
    for (int32_t i = 0; i <= last; ++i) {
        acc += (uint32_t)((after[i] - p->state_zp) * time[i]);
    }
    return acc;
}

void TINYRT_KERNEL(const tinyrt_svdf_s8_params *p, const int8_t *x, const int8_t *w,
                   const int32_t *start, const TINYRT_STATE *time, const int32_t *bias,
                   const TINYRT_STATE *before, TINYRT_STATE *after, int8_t *y) {
    for (int32_t n = 0; n < p->batches; ++n) {
        for (int32_t f = 0, unit = 0; unit < p->units; ++unit) {
            uint32_t acc = (bias != NULL) ? (uint32_t)bias[unit] : 0;
            for (int32_t r = 0; r < p->rank; ++r, ++f) {
                const int32_t feature = tinyrt_feature_of(p, x, w + (f * p->c_in), start[f]);
                acc = tinyrt_row_of_filter(p, feature, time + (f * p->memory), before, after, acc);
                before += p->memory;
                after += p->memory;
            }
            const int32_t value = tinyrt_requant((int32_t)acc, p->time_mult, p->time_shift);
            *y++ = tinyrt_to_s8(value, p->y_zp, INT8_MIN, INT8_MAX);
        }
        x += p->c_in;
    }
}

#endif
