/** What the kernels that rescale share. */
#ifndef TINYRT_RESCALE_ONE_H
#define TINYRT_RESCALE_ONE_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_rescale.h"

/** One value. */
static inline int32_t tinyrt_rescale_one(const tinyrt_rescale_params *p, int32_t x) {
    const int32_t centred = x - p->x_zp;
    const int32_t value = (centred >= 0) ? tinyrt_requant(centred, p->mult, p->shift)
                                         : tinyrt_requant(centred, p->neg_mult, p->neg_shift);
    return tinyrt_clamp(value, p->act_min - p->y_zp, p->act_max - p->y_zp) + p->y_zp;
}

#endif
