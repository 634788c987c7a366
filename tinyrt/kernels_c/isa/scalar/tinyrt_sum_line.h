/** A line of linear sums. */
#ifndef TINYRT_SUM_LINE_H
#define TINYRT_SUM_LINE_H

#include "tinyrt_simd.h"
#include "tinyrt_sum.h"

/** count outputs from elements that lie a_step and b_step apart. */
static inline void tinyrt_sum_line(tinyrt_linear_sum p, const int8_t *a, int32_t a_step,
                                   const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    for (const int8_t *const end = y + count; y != end; ++y, a += a_step, b += b_step) {
        const int32_t sum = (*a * p.a_factor) + (*b * p.b_factor) + p.addend;
        *y = (int8_t)tinyrt_saturate(sum >> 21);
    }
}

#endif
