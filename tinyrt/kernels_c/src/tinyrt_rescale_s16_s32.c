#include "tinyrt_rescale.h"

#include "tinyrt_rescale_one.h"

void tinyrt_rescale_s16_s32(const tinyrt_rescale_params *p, const int16_t *x,
                            int32_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < p->size; ++i) {
        y[i] = tinyrt_rescale_one(p, x[i]);
    }
}
