#include "tinyrt_column_sums.h"
#include "tinyrt_fixedpoint.h"

void tinyrt_average_sums_s8(const tinyrt_average_sums_s8_params *p, const int32_t *sums,
                            int8_t *y) {
    const int32_t half = p->count / 2;
    for (int32_t c = 0; c < p->channels; ++c) {
        const int32_t mean = ((sums[c] > 0) ? (sums[c] + half) : (sums[c] - half)) / p->count;
        y[c] = (int8_t)tinyrt_clamp(mean, p->act_min, p->act_max);
    }
}
