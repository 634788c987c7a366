#include "tinyrt_mean.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_index.h"

static int32_t sum_of(const tinyrt_mean_s8_params *p, const int8_t *x) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    int32_t sum = 0;
    do {
        sum += x[tinyrt_flat_index(p->summed_rank, p->summed_strides, index)];
    } while (tinyrt_next_index(p->summed_rank, p->summed_dims, index));
    return sum;
}

static int8_t mean_of(const tinyrt_mean_s8_params *p, int32_t sum) {
    if (p->y_mult == 0) {
        return (int8_t)(sum / p->count);
    }
    const int32_t mean = tinyrt_requant(sum - p->count * p->x_zp, p->y_mult, p->y_shift);
    return tinyrt_to_s8(mean, p->y_zp, INT8_MIN, INT8_MAX);
}

void tinyrt_mean_s8(const tinyrt_mean_s8_params *p, const int8_t *x, int8_t *TINYRT_RESTRICT y) {
    int32_t index[TINYRT_MAX_RANK] = {0};
    do {
        const int8_t *first = x + tinyrt_flat_index(p->kept_rank, p->kept_strides, index);
        *y++ = mean_of(p, sum_of(p, first));
    } while (tinyrt_next_index(p->kept_rank, p->kept_dims, index));
}
