#include "tinyrt_softmax.h"

#include "tinyrt_fixedpoint.h"

/** A table of 513 entries over 0 to 65,535, linear between them. */
static inline int32_t interpolate(const int16_t *table, int32_t x) {
    const int16_t *const entry = table + (x >> 7);
    const int32_t slope = entry[1] - entry[0];
    return entry[0] + ((slope * (x & 0x7F) + 64) >> 7);
}

/** Bits left of the greatest one; value is positive. */
static int32_t headroom(int32_t value) {
    int32_t bits = 0;
    for (; value < (1 << 30); value *= 2) {
        ++bits;
    }
    return bits;
}

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
        const int32_t value = interpolate(table, (at > 0) ? at : 0);
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
        const int32_t left = headroom(sum);
        const int32_t normalised = (int32_t)((((uint32_t)sum << left) + (UINT32_C(1) << 13)) >> 14);
        const int32_t at = tinyrt_clamp(normalised - (1 << 16), 0, UINT16_MAX);
        shares(interpolate(p->reciprocals, at), 30 - left, y, y + p->c);
    }
}
