#include "tinyrt_average_pool2d.h"

#include "tinyrt_four_columns.h"

/** Elements up to which a reciprocal of 32 bits gives exact quotients: of n up to 128.5 * count,
 * (n + 1) * count <= 2^32. */
#define MOST_RECIPROCAL 5780U

/** The number of elements under a window, and its reciprocal, rounded down. */
typedef struct {
    uint32_t count;
    uint32_t reciprocal;
} tinyrt_divisor;

/** A sum without its sign, and half of the count: what is divided. */
static inline uint32_t dividend(int32_t sum, uint32_t sign, uint32_t half) {
    return (((uint32_t)sum ^ sign) - sign) + half;
}

static inline int8_t limited(const tinyrt_pool2d_s8_params *p, uint32_t mean, uint32_t sign) {
    return (int8_t)tinyrt_clamp((int32_t)((mean ^ sign) - sign), p->act_min, p->act_max);
}

/** Means over more elements than reciprocals are exact for: a division for each. */
static TINYRT_NOINLINE void divided_means(const tinyrt_pool2d_s8_params *p, uint32_t count,
                                          const int32_t *sums, int32_t channels, int8_t *y) {
    for (int32_t c = 0; c < channels; ++c) {
        const uint32_t sign = (uint32_t)(sums[c] >> 31);
        y[c] = limited(p, dividend(sums[c], sign, count / 2U) / count, sign);
    }
}

/** Means of some channels from their sums, halves away from zero. */
static TINYRT_NOINLINE void means(const tinyrt_pool2d_s8_params *p, const tinyrt_divisor *divisor,
                                  const int32_t *sums, int32_t channels, int8_t *y) {
    const uint32_t count = divisor->count;
    const uint32_t reciprocal = divisor->reciprocal;
    if (count > MOST_RECIPROCAL) {
        divided_means(p, count, sums, channels, y);
        return;
    }
    const uint32_t half = (count / 2U) + 1U;
    for (const int32_t *const end = sums + channels; sums != end; ++sums) {
        const uint32_t sign = (uint32_t)(*sums >> 31);
        const uint64_t product = (uint64_t)dividend(*sums, sign, half) * reciprocal;
        *y++ = limited(p, (uint32_t)(product >> 32), sign);
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
    TINYRT_ASSERT(count > 0U);
    if (count != divisor->count) {
        divisor->count = count;
        divisor->reciprocal = UINT32_MAX / count;
    }
}

void tinyrt_average_columns_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y) {
    const tinyrt_window *window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    tinyrt_divisor divisor = {0U, 0U};
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * row_step) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = (oy * window->stride_h) - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox, y += p->y.c) {
                const int32_t x0 = (ox * window->stride_w) - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                const tinyrt_area area = {ky.end - ky.begin, kx.end - kx.begin, row_step, p->x.c};
                set_divisor((uint32_t)(area.rows * area.columns), &divisor);
                all_channels(p, area, &divisor,
                             x + (y0 + ky.begin) * row_step + (x0 + kx.begin) * p->x.c, y);
            }
        }
    }
}
