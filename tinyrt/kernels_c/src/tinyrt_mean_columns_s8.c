#include "tinyrt_mean_columns.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_four_columns.h"

static int8_t output(const tinyrt_mean_columns_s8_params *p, int32_t sum) {
    return tinyrt_to_s8(tinyrt_requant(sum, p->y_mult, p->y_shift), p->y_zp, INT8_MIN, INT8_MAX);
}

void tinyrt_mean_columns_s8(const tinyrt_mean_columns_s8_params *p, const int8_t *x,
                            int8_t *TINYRT_RESTRICT y) {
    const tinyrt_area area = {1, p->pixels, 0, p->channels};
    for (int32_t outer = 0; outer < p->outer; ++outer) {
        int32_t c = 0;
        for (; (c + 4) <= p->channels; c += 4) {
            int32_t sums[4] = {p->first, p->first, p->first, p->first};
            tinyrt_add_four_columns(area, x + c, sums);
            for (int32_t i = 0; i < 4; ++i) {
                *y++ = output(p, sums[i]);
            }
        }
        for (; c < p->channels; ++c) {
            *y++ = output(p, p->first + tinyrt_sum_of_area(area, x + c));
        }
        x += p->pixels * p->channels;
    }
}
