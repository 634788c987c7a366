/** What the kernels of tinyrt_svdf.h for either kind of state share. */
#ifndef TINYRT_SVDF_FEATURE_H
#define TINYRT_SVDF_FEATURE_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_svdf.h"

/** The feature of one filter: start (the zero point's share) and products with x, requantised. */
static inline int32_t tinyrt_svdf_feature(const tinyrt_svdf_s8_params *p, const int8_t *x,
                                          const int8_t *w, int32_t start) {
    int32_t acc = start;
    for (int32_t i = 0; i < p->c_in; ++i) {
        acc += x[i] * w[i];
    }
    return tinyrt_requant(acc, p->feature_mult, p->feature_shift);
}

#endif
