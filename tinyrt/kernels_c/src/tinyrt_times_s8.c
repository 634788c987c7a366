#include "tinyrt_mul.h"

#include "tinyrt_requant4.h"
#include "tinyrt_rows_of_pairs.h"

static TINYRT_NOINLINE void row(const void *params, const int8_t *a, int32_t a_step,
                                const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    /* A copy: the compiler need not read it again after each output. */
    const tinyrt_times_s8_params p = *(const tinyrt_times_s8_params *)params;
    const int32_t rounding = tinyrt_rounding_of(p.next_shift, (2 * p.y_zp) + 1);
    for (const int8_t *const end = y + count; y != end; ++y, a += a_step, b += b_step) {
        const int32_t doubled = (*a - p.a_zp) * ((*b * p.b_factor) + p.b_addend);
        *y = tinyrt_requant_rounded(doubled, p.y_mult, p.next_shift, rounding);
    }
}

void tinyrt_times_s8(const tinyrt_times_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_row(&p->shape, row, p, a, b, y);
}
