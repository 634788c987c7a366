#include "tinyrt_rescale.h"

#include "tinyrt_rescale_one.h"

void tinyrt_rescale_s32_s8(const tinyrt_rescale_params *p, const int32_t *x,
                           int8_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < p->size; ++i) {
        y[i] = (int8_t)tinyrt_rescale_one(p, x[i]);
    }
}
