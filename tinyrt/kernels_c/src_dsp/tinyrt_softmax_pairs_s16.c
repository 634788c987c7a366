#include "tinyrt_softmax.h"

#include "tinyrt_extreme_pairs.h"
#include "tinyrt_softmax_s16_sum.h"
#include "tinyrt_table_pairs.h"

/** From x to exp(x - most), with numbers in registers.
 *
 *  factor, start: of differences, twice as large as they are scaled by. mult, end, right: to
 *  positions of the table, whose last one is that of 0. slope, weights: what a step behind an entry
 *  adds to both weights in Q0.14, and those of an entry itself. */
typedef struct {
    const int16_t *table;
    uint32_t factor;
    int32_t start;
    int32_t mult;
    int32_t end;
    int32_t right;
    int32_t slope;
    int32_t weights;
    int32_t half;
} exponential;

static inline exponential exponential_of(const tinyrt_softmax_s16_params *p, int32_t most) {
    const int32_t left = (p->x_shift > 0) ? p->x_shift : 0;
    const int32_t right = left - p->x_shift;
    const int32_t less = ((1 << right) - 1) >> 1;
    exponential e;
    e.table = p->exponentials;
    e.factor = UINT32_C(2) << left;
    e.start = -most * (2 << left);
    e.mult = p->x_mult;
    e.end = (int32_t)((uint32_t)UINT16_MAX << right) + less;
    e.right = right;
    e.slope = tinyrt_in_register((1 << 23) - (1 << 7));
    e.weights = tinyrt_in_register(1 << 14);
    e.half = tinyrt_in_register(1 << 13);
    return e;
}

/** exp of a scaled difference in Q0.29. */
static inline int32_t raised(const exponential *e, int32_t difference) {
    const int32_t at =
        tinyrt_limit_16(tinyrt_add_high_mul(difference, e->mult, e->end) >> e->right);
    const uint32_t entries = tinyrt_load_word(e->table + (at >> 7));
    const int32_t weights = tinyrt_add_product(at & 0x7F, e->slope, e->weights);
    return tinyrt_dot_pair(entries, (uint32_t)weights, e->half);
}

static inline int32_t raised_low(const exponential *e, uint32_t pair) {
    return raised(e, tinyrt_add_low_low(pair, e->factor, e->start));
}

static int32_t largest(const int16_t *x, int32_t count) {
    const int32_t last = x[count - 1];
    uint32_t most = tinyrt_pair(last, last);
    for (const int16_t *const end = x + (count & ~1); x != end; x += 2) {
        most = tinyrt_max_pairs(tinyrt_load_word(x), most);
    }
    return (tinyrt_low(most) > tinyrt_high(most)) ? tinyrt_low(most) : tinyrt_high(most);
}

/** y = exp(x - most) of a row; returns their sum. */
static int32_t exponentials(const exponential *at, int32_t count, const int16_t *x, int16_t *y) {
    const exponential e = *at;
    int32_t sum = 0;
    for (const int16_t *const end = x + (count & ~1); x != end; x += 2, y += 2) {
        const uint32_t pair = tinyrt_load_word(x);
        const uint32_t first = (uint32_t)raised_low(&e, pair) >> 14;
        const int32_t second = raised(&e, tinyrt_add_low_high(e.factor, pair, e.start));
        const uint32_t both = tinyrt_high_of_14(first, second);
        tinyrt_store_word(y, both);
        sum = tinyrt_dot_pair(both, 0x00010001U, sum);
    }
    if ((count & 1) != 0) {
        const int32_t last = raised_low(&e, (uint32_t)*x) >> 14;
        *y = (int16_t)last;
        sum += last;
    }
    return sum;
}

/** y = y * reciprocal / 2^30 of a row, halves up; reciprocal is shifted to the left. */
static void shares(int32_t reciprocal, int16_t *y, int32_t count) {
    const int32_t half = 1 << 13;
    for (const int16_t *const end = y + (count & ~1); y != end; y += 2) {
        const uint32_t pair = tinyrt_load_word(y);
        const int32_t first = tinyrt_saturate_14(tinyrt_add_scaled_low(reciprocal, pair, half));
        const int32_t second = tinyrt_saturate_14(tinyrt_add_scaled_high(reciprocal, pair, half));
        tinyrt_store_word(y, tinyrt_low_halves((uint32_t)first, (uint32_t)second));
    }
    if ((count & 1) != 0) {
        *y = (int16_t)tinyrt_saturate_14(tinyrt_add_scaled_low(reciprocal, (uint32_t)*y, half));
    }
}

void tinyrt_softmax_pairs_s16(const tinyrt_softmax_s16_params *p, const int16_t *x, int16_t *y) {
    for (int32_t row = 0; row < p->rows; ++row, x += p->c, y += p->c) {
        const exponential e = exponential_of(p, largest(x, p->c));
        const int32_t sum = exponentials(&e, p->c, x, y);
        const int32_t left = tinyrt_headroom(sum);
        const int32_t reciprocal = tinyrt_reciprocal_at(p->reciprocals, sum, left);
        shares((int32_t)((uint32_t)reciprocal << left), y, p->c);
    }
}
