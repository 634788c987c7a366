/** A line of linear sums. */
#ifndef TINYRT_SUM_LINE_H
#define TINYRT_SUM_LINE_H

#include "tinyrt_simd.h"
#include "tinyrt_sum.h"
#include "tinyrt_vectors.h"

#ifdef TINYRT_VECTORS

/** Sums of a's neighbours and b's. Limits take 16 bits off, then five, rounding down (vxrm 2). */
static inline void tinyrt_sum_neighbours(tinyrt_linear_sum p, const int8_t *a, const int8_t *b,
                                         int32_t count, int8_t *y) {
    __asm volatile("csrwi vxrm, 2\n"
                   "1:\n"
                   "vsetvli t0, %[count], e8, m2, ta, ma\n"
                   "vle8.v v0, (%[a])\n"
                   "vle8.v v2, (%[b])\n"
                   "sub %[count], %[count], t0\n"
                   "add %[a], %[a], t0\n"
                   "add %[b], %[b], t0\n" TINYRT_WIDE_WORDS "vsext.vf4 v8, v0\n"
                   "vsext.vf4 v16, v2\n"
                   "vmul.vx v8, v8, %[a_factor]\n"
                   "vmacc.vx v8, %[b_factor], v16\n"
                   "vadd.vx v8, v8, %[addend]\n" TINYRT_WIDE_HALVES
                   "vnclip.wi v8, v8, 16\n" TINYRT_WIDE_BYTES "vnclip.wi v8, v8, 5\n"
                   "vse8.v v8, (%[y])\n"
                   "add %[y], %[y], t0\n"
                   "bnez %[count], 1b\n"
                   : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y), [count] "+r"(count)
                   : [a_factor] "r"(p.a_factor), [b_factor] "r"(p.b_factor), [addend] "r"(p.addend)
                   : "t0", "memory" TINYRT_CLOBBERED);
}

#endif

/** count outputs from elements that lie a_step and b_step apart. */
static inline void tinyrt_sum_line(tinyrt_linear_sum p, const int8_t *a, int32_t a_step,
                                   const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
#ifdef TINYRT_VECTORS
    if (a_step == 1 && b_step == 1) {
        tinyrt_sum_neighbours(p, a, b, count, y);
        return;
    }
#endif
    for (const int8_t *const end = y + count; y != end; ++y, a += a_step, b += b_step) {
        const int32_t sum = (*a * p.a_factor) + (*b * p.b_factor) + p.addend;
        *y = (int8_t)tinyrt_saturate(sum >> 21);
    }
}

#endif
