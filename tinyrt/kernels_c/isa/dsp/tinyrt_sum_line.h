/** A line of linear sums, four at a time. */
#ifndef TINYRT_SUM_LINE_H
#define TINYRT_SUM_LINE_H

#include "tinyrt_simd.h"
#include "tinyrt_sum.h"

/** An output, in [0, 255]. */
static inline uint32_t tinyrt_sum_low(tinyrt_linear_sum p, uint32_t a, uint32_t b) {
    return tinyrt_limit_shifted(
        tinyrt_add_scaled_low(p.a_factor, a, tinyrt_add_scaled_low(p.b_factor, b, p.addend)));
}

static inline uint32_t tinyrt_sum_high(tinyrt_linear_sum p, uint32_t a, uint32_t b) {
    return tinyrt_limit_shifted(
        tinyrt_add_scaled_high(p.a_factor, a, tinyrt_add_scaled_high(p.b_factor, b, p.addend)));
}

/** Outputs by fours of a's neighbours and b's, or one element of b. */
static inline void tinyrt_sum_fours(tinyrt_linear_sum p, const int8_t *a, const int8_t *b,
                                    int32_t b_step, int32_t count, int8_t *y) {
    /* Bytes in the upper halves of pairs: the signed value, times 256. */
    const uint32_t upper = 0xFF00FF00U;
    int8_t repeated[4];
    if (b_step == 0) {
        tinyrt_store_word(repeated, tinyrt_four_times(*b));
        b = repeated;
    }
    for (const int8_t *const end = y + (count & ~3); y != end; a += 4, b += 4 * b_step, y += 4) {
        const uint32_t from_a = tinyrt_load_word(a);
        const uint32_t from_b = tinyrt_load_word(b);
        const uint32_t even_a = (from_a << 8) & upper;
        const uint32_t even_b = (from_b << 8) & upper;
        const uint32_t odd_a = from_a & upper;
        const uint32_t odd_b = from_b & upper;
        const uint32_t four =
            tinyrt_sum_low(p, even_a, even_b) | tinyrt_sum_low(p, odd_a, odd_b) << 8 |
            tinyrt_sum_high(p, even_a, even_b) << 16 | tinyrt_sum_high(p, odd_a, odd_b) << 24;
        tinyrt_store_word(y, four ^ 0x80808080U);
    }
}

/** count outputs from elements that lie a_step and b_step apart. */
static inline void tinyrt_sum_line(tinyrt_linear_sum p, const int8_t *a, int32_t a_step,
                                   const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    int32_t i = 0;
    if (a_step < b_step) {
        /* What repeats comes second. */
        const tinyrt_linear_sum swapped = {p.b_factor, p.a_factor, p.addend};
        const int8_t *const other = a;
        p = swapped;
        a = b;
        b = other;
        b_step = a_step;
        a_step = 1;
    }
    if (a_step == 1) {
        tinyrt_sum_fours(p, a, b, b_step, count, y);
        i = count & ~3;
    }
    for (; i < count; ++i) {
        const uint32_t from_a = (uint32_t)(uint8_t)a[i * a_step] << 8;
        const uint32_t from_b = (uint32_t)(uint8_t)b[i * b_step] << 8;
        y[i] = (int8_t)((int32_t)tinyrt_sum_low(p, from_a, from_b) - 128);
    }
}

#endif
