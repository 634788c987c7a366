#include "tinyrt_column_sums.h"
#include "tinyrt_fixedpoint.h"

void tinyrt_mean_sums_s8(const tinyrt_mean_sums_s8_params *p, const int32_t *sums, int8_t *y) {
    for (int32_t c = 0; c < p->channels; ++c) {
        const int32_t mean = tinyrt_requant(sums[c] - (p->count * p->x_zp), p->y_mult, p->y_shift);
        y[c] = tinyrt_to_s8(mean, p->y_zp, INT8_MIN, INT8_MAX);
    }
}
