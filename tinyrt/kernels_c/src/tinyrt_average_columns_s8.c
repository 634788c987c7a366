#include "tinyrt_average_pool2d.h"

#include "tinyrt_four_columns.h"
#include "tinyrt_pool_walk.h"

/** The number of elements under a window, and its reciprocal, rounded down: quotients of n up to
 *  128.5 * count are exact where (n + 1) * count <= 2^32, which is up to 5,780 elements. */
typedef struct {
    uint32_t count;
    uint32_t reciprocal;
} tinyrt_divisor;

/** Means of some channels from their sums, halves away from zero. */
static TINYRT_NOINLINE void means(const tinyrt_pool2d_s8_params *p, const tinyrt_divisor *divisor,
                                  const int32_t *sums, int32_t channels, int8_t *y) {
    const uint32_t half = (divisor->count / 2U) + 1U;
    const uint32_t reciprocal = divisor->reciprocal;
    for (const int32_t *const end = sums + channels; sums != end; ++sums) {
        const uint32_t sign = (uint32_t)(*sums >> 31);
        const uint32_t dividend = (((uint32_t)*sums ^ sign) - sign) + half;
        const uint32_t mean = (uint32_t)(((uint64_t)dividend * reciprocal) >> 32);
        *y++ = (int8_t)tinyrt_clamp((int32_t)((mean ^ sign) - sign), p->act_min, p->act_max);
    }
}

static void all_channels(const tinyrt_pool2d_s8_params *p, tinyrt_area area,
                         const tinyrt_divisor *divisor, const int8_t *x, int8_t *y) {
    int32_t c = 0;
    for (; (c + 4) <= p->y.c; c += 4) {
        int32_t sums[4] = {0};
        tinyrt_add_four_columns(area, x + c, sums);
        means(p, divisor, sums, 4, y + c);
    }
    for (; c < p->y.c; ++c) {
        const int32_t sum = tinyrt_sum_of_area(area, x + c);
        means(p, divisor, &sum, 1, y + c);
    }
}

/** Neighbouring windows have as many elements mostly, and then the same reciprocal. */
static void set_divisor(uint32_t count, tinyrt_divisor *divisor) {
    TINYRT_ASSERT((count > 0U) && (count <= 5780U));
    if (count != divisor->count) {
        divisor->count = count;
        divisor->reciprocal = UINT32_MAX / count;
    }
}

void tinyrt_average_columns_s8(const tinyrt_pool2d_s8_params *p, const int8_t *input,
                               int8_t *output) {
    tinyrt_divisor divisor = {0U, 0U};
    TINYRT_POOL_WALK(p, input, output, int8_t,
                     set_divisor((uint32_t)(area.rows * area.columns), &divisor);
                     all_channels(p, area, &divisor, x, y));
}
