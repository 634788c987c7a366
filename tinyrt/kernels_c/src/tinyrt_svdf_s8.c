#include "tinyrt_svdf.h"

#include "tinyrt_svdf_feature.h"

/** Moves a row on; returns acc and its products with the time weights. Sums wrap, and features,
 *  whose zero point is added behind their limits, too. */
static uint32_t row_of_filter(const tinyrt_svdf_s8_params *p, int32_t feature, const int8_t *time,
                              const int8_t *before, int8_t *after, uint32_t acc) {
    const int32_t last = p->memory - 1;
    for (int32_t i = 0; i < last; ++i) {
        after[i] = before[i + 1];
    }
    after[last] = (int8_t)(tinyrt_clamp(feature, INT8_MIN, INT8_MAX) + p->state_zp);
    for (int32_t i = 0; i <= last; ++i) {
        acc += (uint32_t)((after[i] - p->state_zp) * time[i]);
    }
    return acc;
}

void tinyrt_svdf_s8(const tinyrt_svdf_s8_params *p, const int8_t *x, const int8_t *w,
                    const int32_t *start, const int8_t *time, const int32_t *bias,
                    const int8_t *before, int8_t *after, int8_t *y) {
    for (int32_t n = 0; n < p->batches; ++n) {
        for (int32_t f = 0, unit = 0; unit < p->units; ++unit) {
            uint32_t acc = bias != NULL ? (uint32_t)bias[unit] : 0;
            for (int32_t r = 0; r < p->rank; ++r, ++f) {
                const int32_t feature = tinyrt_svdf_feature(p, x, w + f * p->c_in, start[f]);
                acc = row_of_filter(p, feature, time + f * p->memory, before, after, acc);
                before += p->memory;
                after += p->memory;
            }
            const int32_t value = tinyrt_requant((int32_t)acc, p->time_mult, p->time_shift);
            *y++ = tinyrt_to_s8(value, p->y_zp, INT8_MIN, INT8_MAX);
        }
        x += p->c_in;
    }
}
