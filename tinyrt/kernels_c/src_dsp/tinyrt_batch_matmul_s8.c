#include "tinyrt_batch_matmul.h"

#include "tinyrt_matmul_s8_loop.h"
#include "tinyrt_simd.h"

/** A number in both halves of a word. */
static inline uint32_t both(int32_t number) {
    return (uint32_t)(uint16_t)number * 0x10001U;
}

/** Two outputs of columns whose elements are neighbours, as those of the row are. */
static TINYRT_NOINLINE void two_columns(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
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
    y[0] = tinyrt_matmul_output(p, first);
    y[1] = tinyrt_matmul_output(p, second);
}

static int8_t *one_row(const tinyrt_batch_matmul_s8_params *p, const int8_t *a, const int8_t *b,
                       int8_t *y) {
    int32_t column = 0;
    if ((p->a_inner == 1) && (p->b_inner == 1)) {
        for (; (p->columns - column) >= 2; column += 2) {
            two_columns(p, a, b, y);
            b += 2 * p->b_column;
            y += 2;
        }
    }
    for (; column < p->columns; column++) {
        *y++ = tinyrt_matmul_one(p, a, b);
        b += p->b_column;
    }
    return y;
}

void tinyrt_batch_matmul_s8(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                            const int8_t *b, int8_t *TINYRT_RESTRICT y) {
    tinyrt_matmul_s8(p, one_row, a, b, y);
}
