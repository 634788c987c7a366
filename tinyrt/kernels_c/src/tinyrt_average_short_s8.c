#include "tinyrt_average_pool2d.h"

#include "tinyrt_four_means.h"
#include "tinyrt_pool_walk.h"

/** The number of elements under a window, and its reciprocal. */
typedef struct {
    int32_t count;
    int32_t reciprocal;
} tinyrt_short_divisor;

/** The reciprocal is 2^24 / count, rounded up to the next number. So sum * reciprocal + 2^23 is too
 *  large by less than 1 / (2 * count) of 2^24 for sums above 0, and too small by as little for
 * those below: its upper byte is the mean, with halves away from zero. This needs 128 * count /
 * 2^24 < 1 / (2 * count), which is up to 255 elements. */
static inline void set_divisor(int32_t count, tinyrt_short_divisor *divisor) {
    TINYRT_ASSERT(count <= 255);
    if (count != divisor->count) {
        divisor->count = count;
        divisor->reciprocal = (int32_t)((UINT32_C(1) << 24) / (uint32_t)count) + 1;
    }
}

static void all_channels(const tinyrt_pool2d_s8_params *p, tinyrt_area area, int32_t reciprocal,
                         const int8_t *x, int8_t *y) {
    const tinyrt_four_limit low = tinyrt_four_limit_of(p->act_min);
    const tinyrt_four_limit high = tinyrt_four_limit_of(p->act_max);
    int32_t c = 0;
    for (; (c + 4) <= p->y.c; c += 4) {
        tinyrt_four_means(area, reciprocal, low, high, x + c, y + c);
    }
    for (; c < p->y.c; ++c) {
        const int32_t mean = tinyrt_mean_of(tinyrt_sum_of_area(area, x + c), reciprocal);
        y[c] = (int8_t)tinyrt_clamp(mean, p->act_min, p->act_max);
    }
}

void tinyrt_average_short_s8(const tinyrt_pool2d_s8_params *p, const int8_t *input,
                             int8_t *output) {
    tinyrt_short_divisor divisor = {0, 0};
    TINYRT_POOL_WALK(p, input, output, int8_t, set_divisor(area.rows * area.columns, &divisor);
                     all_channels(p, area, divisor.reciprocal, x, y));
}
