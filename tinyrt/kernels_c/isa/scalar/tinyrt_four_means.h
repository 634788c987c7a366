/** The means of an area, of four neighbouring channels at a time. */
#ifndef TINYRT_FOUR_MEANS_H
#define TINYRT_FOUR_MEANS_H

#include "tinyrt_four_columns.h"
#include "tinyrt_four_largest.h"
#include "tinyrt_mean_of.h"

/** y = clamp(sum * reciprocal / 2^24) of four channels' areas, of which x is the first element. */
static inline void tinyrt_four_means(tinyrt_area area, int32_t reciprocal, tinyrt_four_limit low,
                                     tinyrt_four_limit high, const int8_t *x, int8_t *y) {
    int32_t sums[4] = {0};
    tinyrt_add_four_columns(area, x, sums);
    for (int32_t i = 0; i < 4; ++i) {
        const int32_t mean = tinyrt_mean_of(sums[i], reciprocal);
        y[i] = (int8_t)tinyrt_smaller(tinyrt_larger(mean, low), high);
    }
}

#endif
