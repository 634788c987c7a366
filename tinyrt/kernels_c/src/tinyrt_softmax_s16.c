#include "tinyrt_softmax.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_softmax_s16_sum.h"

static int32_t largest(const int16_t *x, const int16_t *end) {
    int32_t most = INT16_MIN;
    for (; x != end; ++x) {
        most = (*x > most) ? *x : most;
    }
    return most;
}

/** y = exp(x - most) of a row; returns their sum. Differences are not above 0 unless they wrap, so
 *  that half of a step less rounds halves away from 0. */
static int32_t exponentials(const tinyrt_softmax_s16_params *p, int32_t most, const int16_t *x,
                            int16_t *y) {
    const int16_t *const table = p->exponentials;
    const int32_t mult = p->x_mult;
    const int32_t left = (p->x_shift > 0) ? p->x_shift : 0;
    const int32_t right = left - p->x_shift;
    const int32_t less = (int32_t)((UINT32_C(1) << right) - 1U) >> 1;
    int32_t sum = 0;
    for (const int16_t *const end = x + p->c; x != end; ++x, ++y) {
        const int32_t below = tinyrt_shift_left(*x - most, left);
        const int32_t high = tinyrt_rounding_doubling_high_mul(below, mult);
        const int32_t at = (((high & (high >> 31)) + less) >> right) + UINT16_MAX;
        const int32_t value = tinyrt_table_at(table, (at > 0) ? at : 0);
        *y = (int16_t)value;
        sum += value;
    }
    return sum;
}

/** y = y * reciprocal / 2^right of a row, halves up. */
static void shares(int32_t reciprocal, int32_t right, int16_t *y, const int16_t *end) {
    const int32_t half = (1 << right) >> 1;
    for (; y != end; ++y) {
        const int32_t share = ((*y * reciprocal) + half) >> right;
        *y = (int16_t)((share > INT16_MAX) ? INT16_MAX : share);
    }
}

void tinyrt_softmax_s16(const tinyrt_softmax_s16_params *p, const int16_t *x, int16_t *y) {
    for (int32_t row = 0; row < p->rows; ++row, x += p->c, y += p->c) {
        const int32_t sum = exponentials(p, largest(x, x + p->c), x, y);
        const int32_t left = tinyrt_headroom(sum);
        shares(tinyrt_reciprocal_at(p->reciprocals, sum, left), 30 - left, y, y + p->c);
    }
}
