#include "tinyrt_mul.h"

#include "tinyrt_requant4.h"
#include "tinyrt_rows_of_pairs.h"

/** What requantisation of a product takes; the result is 128 more than the output. */
typedef struct {
    int32_t mult;
    int32_t shift;
    int32_t rounding;
} scaling;

/** An output before its limits: it fits 16 bits. The sign of doubled stands in for that of the high
 *  half, which may be 0 where doubled is -2: then both give the same. */
static inline int32_t scaled(scaling s, int32_t doubled) {
    return tinyrt_add_high_mul(doubled, s.mult, s.rounding + (doubled >> 31)) >> s.shift;
}

/** Two outputs, in [0, 255]. */
static inline uint32_t two(scaling s, uint32_t a, uint32_t b) {
    const int32_t first = scaled(s, tinyrt_low(a) * tinyrt_low(b));
    const int32_t second = scaled(s, tinyrt_high(a) * tinyrt_high(b));
    return tinyrt_limit_pair(tinyrt_low_halves((uint32_t)first, (uint32_t)second));
}

/** Outputs by fours of a's neighbours and b's, or one element of b. */
static TINYRT_NOINLINE void fours(scaling s, int32_t a_zp, int32_t b_zp, const int8_t *a,
                                  const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    const uint32_t a_centre = tinyrt_pair(-a_zp, -a_zp);
    const uint32_t b_centre = tinyrt_pair(-b_zp, -b_zp);
    int8_t repeated[4];
    if (b_step == 0) {
        tinyrt_store_word(repeated, tinyrt_four_times(*b));
        b = repeated;
    }
    for (const int8_t *const end = y + count; y != end; a += 4, b += 4 * b_step, y += 4) {
        const uint32_t from_a = tinyrt_load_word(a);
        const uint32_t from_b = tinyrt_load_word(b);
        const uint32_t even_a = tinyrt_add_even_bytes(a_centre, from_a);
        const uint32_t odd_a = tinyrt_add_odd_bytes(a_centre, from_a);
        const uint32_t even_b = tinyrt_add_even_bytes(b_centre, from_b);
        const uint32_t odd_b = tinyrt_add_odd_bytes(b_centre, from_b);
        const uint32_t even = two(s, tinyrt_add_pairs(even_a, even_a), even_b);
        const uint32_t odd = two(s, tinyrt_add_pairs(odd_a, odd_a), odd_b);
        tinyrt_store_word(y, (even | (odd << 8)) ^ 0x80808080U);
    }
}

static TINYRT_NOINLINE void row(const void *params, const int8_t *a, int32_t a_step,
                                const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    /* A copy: the compiler need not read it again after each output. */
    const tinyrt_times_s8_params p = *(const tinyrt_times_s8_params *)params;
    int32_t i = 0;
    if ((p.next_shift > 1) && (a_step | b_step) == 1) {
        /* Here b_factor is 2: products are doubled and go right. */
        const int32_t shift = p.next_shift - 1;
        const scaling s = {p.y_mult, shift, tinyrt_rounding_of(shift, 2 * (p.y_zp + 128) + 1)};
        const int32_t b_zp = -p.b_addend / 2;
        i = count & ~3;
        if (a_step == 1) {
            fours(s, p.a_zp, b_zp, a, b, b_step, i, y);
        } else {
            fours(s, b_zp, p.a_zp, b, a, 0, i, y);
        }
    }
    const int32_t rounding = tinyrt_rounding_of(p.next_shift, (2 * p.y_zp) + 1);
    for (; i < count; ++i) {
        const int32_t doubled =
            (a[i * a_step] - p.a_zp) * ((b[i * b_step] * p.b_factor) + p.b_addend);
        y[i] = tinyrt_requant_rounded(doubled, p.y_mult, p.next_shift, rounding);
    }
}

void tinyrt_times_s8(const tinyrt_times_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_row(&p->shape, row, p, a, b, y);
}
