#include "tinyrt_mul.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_less_high_mul.h"
#include "tinyrt_rows_of_pairs.h"

/** What requantisation of a product takes; rounding is half of 2^shift. */
typedef struct {
    int32_t mult;
    int32_t shift;
    int32_t rounding;
} halving;

/** An output. Twice a product may be 2^31, which no register holds, so it is negated. The sign of
 *  the product stands in for that of the high half, which may be 0 where the product is less than
 *  0: then both give the same. */
static inline int32_t scaled(halving s, int32_t product) {
    const int32_t negated = (int32_t)(0U - ((uint32_t)product << 1));
    const int32_t rounding = tinyrt_add_sign(s.rounding, product);
    return tinyrt_saturate_s16(tinyrt_less_high_mul(negated, s.mult, rounding) >> s.shift);
}

/** Outputs by pairs of a's neighbours and b's. */
static TINYRT_NOINLINE void pairs(halving s, const int16_t *a, const int16_t *b,
                                  const int16_t *y_end, int16_t *y) {
    for (; y != y_end; a += 2, b += 2, y += 2) {
        const uint32_t from_a = tinyrt_load_word(a);
        const uint32_t from_b = tinyrt_load_word(b);
        const int32_t low = scaled(s, tinyrt_low(from_a) * tinyrt_low(from_b));
        const int32_t high = scaled(s, tinyrt_high(from_a) * tinyrt_high(from_b));
        tinyrt_store_word(y, tinyrt_low_halves((uint32_t)low, (uint32_t)high));
    }
}

static TINYRT_NOINLINE void row(const void *params, const int16_t *a, int32_t a_step,
                                const int16_t *b, int32_t b_step, int32_t count, int16_t *y) {
    const tinyrt_mul_s8_params *p = params;
    int32_t i = 0;
    const int is_limited = p->act_min != INT16_MIN; /* no activation limits the other end alone */
    if ((a_step == 1) && (b_step == 1) && (p->y_shift < 0) && (is_limited == 0)) {
        const halving s = {p->y_mult, -p->y_shift, INT32_C(1) << (-p->y_shift - 1)};
        i = count & ~1;
        pairs(s, a, b, y + i, y);
    }
    for (; i < count; ++i) {
        const int32_t product = a[i * a_step] * b[i * b_step];
        y[i] = (int16_t)tinyrt_clamp(tinyrt_requant(product, p->y_mult, p->y_shift), p->act_min,
                                     p->act_max);
    }
}

void tinyrt_mul_s16(const tinyrt_mul_s8_params *p, const int16_t *a, const int16_t *b, int16_t *y) {
    tinyrt_for_each_row_s16(&p->shape, row, p, a, b, y);
}
