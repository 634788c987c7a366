#include "tinyrt_rescale.h"

#include "tinyrt_rescale_one.h"

void tinyrt_rescale_s32_s16(const tinyrt_rescale_params *p, const int32_t *x,
                            int16_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < p->size; ++i) {
        y[i] = (int16_t)tinyrt_rescale_one(p, x[i]);
    }
}
