#include "tinyrt_batch_matmul.h"

#include "tinyrt_matmul_s8_loop.h"
#include "tinyrt_requant4.h"

/** Elements up to which twice a sum is below 2^30. */
#define MOST_DOUBLED 8256

/** Whether a sum becomes an output in the fewest steps. */
static int is_plain(const tinyrt_batch_matmul_s8_params *p) {
    return (p->inner <= MOST_DOUBLED) && (p->y_shift <= 0) && (p->y_shift >= -22);
}

/** Two neighbouring outputs. */
static TINYRT_NOINLINE void finish_two(const tinyrt_batch_matmul_s8_params *p, int32_t first,
                                       int32_t second, int8_t *y) {
    if (is_plain(p) != 0) {
        const int32_t next = 1 - p->y_shift;
        const int32_t rounding = tinyrt_rounding_of(next, (2 * p->y_zp) + 1);
        y[0] = tinyrt_requant_rounded(2 * first, p->y_mult, next, rounding);
        y[1] = tinyrt_requant_rounded(2 * second, p->y_mult, next, rounding);
    } else {
        y[0] = tinyrt_matmul_output(p, first);
        y[1] = tinyrt_matmul_output(p, second);
    }
}

/** A number in both halves of a word. */
static inline uint32_t both(int32_t number) {
    return (uint32_t)(uint16_t)number * 0x10001U;
}

/** Adds the product of a tile's four neighbours of a row and of a column, as pairs. */
static inline int32_t add_four(uint32_t x_even, uint32_t x_odd, uint32_t even, uint32_t odd,
                               int32_t sum) {
    return tinyrt_dot_pair(x_odd, odd, tinyrt_dot_pair(x_even, even, sum));
}

/** Two rows of outputs of two columns. Elements of a row are neighbours, as those of a column. */
static TINYRT_NOINLINE void two_rows(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                                     const int8_t *b, int8_t *y) {
    const uint32_t a_less = both(-p->a_zp);
    const uint32_t b_less = both(-p->b_zp);
    const int32_t a_row = p->a_row;
    const int32_t b_column = p->b_column;
    const int8_t *const end = a + p->inner;
    int32_t sums[4] = {0};
    for (const int8_t *const fours = a + (p->inner & ~3); a != fours; a += 4, b += 4) {
        const uint32_t upper = tinyrt_load_word(a);
        const uint32_t upper_even = tinyrt_add_even_bytes(a_less, upper);
        const uint32_t upper_odd = tinyrt_add_odd_bytes(a_less, upper);
        const uint32_t lower = tinyrt_load_word(a + a_row);
        const uint32_t lower_even = tinyrt_add_even_bytes(a_less, lower);
        const uint32_t lower_odd = tinyrt_add_odd_bytes(a_less, lower);
        const uint32_t left = tinyrt_load_word(b);
        const uint32_t left_even = tinyrt_add_even_bytes(b_less, left);
        const uint32_t left_odd = tinyrt_add_odd_bytes(b_less, left);
        sums[0] = add_four(upper_even, upper_odd, left_even, left_odd, sums[0]);
        sums[2] = add_four(lower_even, lower_odd, left_even, left_odd, sums[2]);
        const uint32_t right = tinyrt_load_word(b + b_column);
        const uint32_t right_even = tinyrt_add_even_bytes(b_less, right);
        const uint32_t right_odd = tinyrt_add_odd_bytes(b_less, right);
        sums[1] = add_four(upper_even, upper_odd, right_even, right_odd, sums[1]);
        sums[3] = add_four(lower_even, lower_odd, right_even, right_odd, sums[3]);
    }
    for (; a != end; ++a, ++b) {
        const int32_t upper = a[0] - p->a_zp;
        const int32_t lower = a[a_row] - p->a_zp;
        const int32_t left = b[0] - p->b_zp;
        const int32_t right = b[b_column] - p->b_zp;
        sums[0] += upper * left;
        sums[1] += upper * right;
        sums[2] += lower * left;
        sums[3] += lower * right;
    }
    finish_two(p, sums[0], sums[1], y);
    finish_two(p, sums[2], sums[3], y + p->columns);
}

/** As two_rows, of one row. */
static TINYRT_NOINLINE void one_row(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                                    const int8_t *b, int8_t *y) {
    const uint32_t a_less = both(-p->a_zp);
    const uint32_t b_less = both(-p->b_zp);
    const int8_t *c = b + p->b_column;
    const int8_t *const end = a + p->inner;
    int32_t first = 0;
    int32_t second = 0;
    for (const int8_t *const fours = a + (p->inner & ~3); a != fours; a += 4, b += 4, c += 4) {
        const uint32_t four = tinyrt_load_word(a);
        const uint32_t even = tinyrt_add_even_bytes(a_less, four);
        const uint32_t odd = tinyrt_add_odd_bytes(a_less, four);
        const uint32_t left = tinyrt_load_word(b);
        const uint32_t right = tinyrt_load_word(c);
        first = tinyrt_dot_pair(even, tinyrt_add_even_bytes(b_less, left), first);
        second = tinyrt_dot_pair(even, tinyrt_add_even_bytes(b_less, right), second);
        first = tinyrt_dot_pair(odd, tinyrt_add_odd_bytes(b_less, left), first);
        second = tinyrt_dot_pair(odd, tinyrt_add_odd_bytes(b_less, right), second);
    }
    for (; a != end; ++a, ++b, ++c) {
        const int32_t x = *a - p->a_zp;
        first += x * (*b - p->b_zp);
        second += x * (*c - p->b_zp);
    }
    finish_two(p, first, second, y);
}

/** Columns from the first; returns how many of them are done, of all rows. */
static int32_t by_tiles(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                        int8_t *y) {
    int32_t column = 0;
    for (; (p->columns - column) >= 2; column += 2, b += 2 * p->b_column) {
        const int8_t *row = a;
        int8_t *out = y + column;
        int32_t left = p->rows;
        for (; left >= 2; left -= 2, row += 2 * p->a_row, out += 2 * p->columns) {
            two_rows(p, row, b, out);
        }
        if (left != 0) {
            one_row(p, row, b, out);
        }
    }
    return column;
}

/** Adds a pair of a row, and of four columns the elements that these meet. */
static inline void add_pair(uint32_t pair, uint32_t less, uint32_t upper, uint32_t lower,
                            int32_t *sums) {
    const uint32_t upper_even = tinyrt_add_even_bytes(less, upper);
    const uint32_t lower_even = tinyrt_add_even_bytes(less, lower);
    const uint32_t upper_odd = tinyrt_add_odd_bytes(less, upper);
    const uint32_t lower_odd = tinyrt_add_odd_bytes(less, lower);
    sums[0] = tinyrt_dot_pair(pair, tinyrt_low_halves(upper_even, lower_even), sums[0]);
    sums[1] = tinyrt_dot_pair(pair, tinyrt_low_halves(upper_odd, lower_odd), sums[1]);
    sums[2] = tinyrt_dot_pair(pair, tinyrt_high_halves(upper_even, lower_even), sums[2]);
    sums[3] = tinyrt_dot_pair(pair, tinyrt_high_halves(upper_odd, lower_odd), sums[3]);
}

/** Four outputs of a row. Elements of a row are neighbours, and columns are. */
static TINYRT_NOINLINE void four_columns(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                                         const int8_t *b, int8_t *y) {
    const uint32_t a_less = both(-p->a_zp);
    const uint32_t b_less = both(-p->b_zp);
    const int32_t step = p->b_inner;
    const int8_t *const end = a + p->inner;
    int32_t sums[4] = {0};
    for (const int8_t *const fours = a + (p->inner & ~3); a != fours; a += 4, b += 4 * step) {
        const uint32_t four = tinyrt_load_word(a);
        const uint32_t even = tinyrt_add_even_bytes(a_less, four);
        add_pair(even, b_less, tinyrt_load_word(b), tinyrt_load_word(b + (2 * step)), sums);
        const uint32_t odd = tinyrt_add_odd_bytes(a_less, four);
        const int8_t *const c = b + step;
        add_pair(odd, b_less, tinyrt_load_word(c), tinyrt_load_word(c + (2 * step)), sums);
    }
    for (; a != end; ++a, b += step) {
        const int32_t x = *a - p->a_zp;
        for (int32_t i = 0; i < 4; ++i) {
            sums[i] += x * (b[i] - p->b_zp);
        }
    }
    finish_two(p, sums[0], sums[1], y);
    finish_two(p, sums[2], sums[3], y + 2);
}

/** As by_tiles, of columns that are neighbours. */
static int32_t by_fours(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                        int8_t *y) {
    const int32_t fours = p->columns & ~3;
    for (int32_t row = 0; row < p->rows; ++row, a += p->a_row, y += p->columns) {
        for (int32_t column = 0; column < fours; column += 4) {
            four_columns(p, a, b + column, y + column);
        }
    }
    return fours;
}

static void one_matrix(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                       int8_t *y) {
    int32_t done = 0;
    if (p->a_inner == 1) {
        TINYRT_ASSERT((p->b_inner == 1) || (p->b_column == 1));
        done = (p->b_inner == 1) ? by_tiles(p, a, b, y) : by_fours(p, a, b, y);
    }
    for (int32_t column = done; column < p->columns; ++column) {
        tinyrt_matmul_column(p, a, b + (column * p->b_column), y + column);
    }
}

void tinyrt_batch_matmul_s8(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                            const int8_t *b, int8_t *TINYRT_RESTRICT y) {
    tinyrt_matmul_s8(p, one_matrix, a, b, y);
}
