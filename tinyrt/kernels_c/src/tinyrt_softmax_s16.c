#include "tinyrt_softmax.h"

#include "tinyrt_fixedpoint.h"

/** A table of 513 entries over all of int16, linear between them. */
static int32_t interpolate(const int16_t *table, int32_t x) {
    const int32_t index = 256 + (x >> 7);
    const int32_t slope = table[index + 1] - table[index];
    return table[index] + ((slope * (x & 0x7F) + 64) >> 7);
}

static int32_t limit(int32_t value) {
    return tinyrt_clamp(value, INT16_MIN, INT16_MAX);
}

/** Bits left of the greatest one; value is positive. */
static int32_t headroom(int32_t value) {
    int32_t bits = 0;
    for (; value < (1 << 30); value *= 2) {
        ++bits;
    }
    return bits;
}

void tinyrt_softmax_s16(const tinyrt_softmax_s16_params *p, const int16_t *x, int16_t *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        int32_t most = INT16_MIN;
        for (int32_t i = 0; i < p->c; ++i) {
            most = (x[i] > most) ? x[i] : most;
        }
        int32_t sum = 0;
        for (int32_t i = 0; i < p->c; ++i) {
            const int32_t below = tinyrt_requant(x[i] - most, p->x_mult, p->x_shift);
            const int32_t clear = (below < (-4 * INT16_MAX)) ? (-4 * INT16_MAX) : below;
            y[i] = (int16_t)interpolate(p->exponentials, limit(clear + INT16_MAX));
            sum += y[i];
        }
        const int32_t left = headroom(sum);
        const int32_t normalised = (int32_t)((((uint32_t)sum << left) + (UINT32_C(1) << 13)) >> 14);
        const int32_t reciprocal =
            interpolate(p->reciprocals, limit(normalised - (1 << 15) - (1 << 16)));
        const int32_t right = 30 - left;
        for (int32_t i = 0; i < p->c; ++i) {
            const int32_t share = ((y[i] * reciprocal) + ((1 << right) >> 1)) >> right;
            y[i] = (int16_t)tinyrt_clamp(share, 0, INT16_MAX);
        }
        x += p->c;
        y += p->c;
    }
}
