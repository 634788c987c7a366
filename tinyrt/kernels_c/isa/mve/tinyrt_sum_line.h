/** A line of linear sums, eight at a time. */
#ifndef TINYRT_SUM_LINE_H
#define TINYRT_SUM_LINE_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_mve.h"
#include "tinyrt_sum.h"

/** What rounds down where 16 bits, then five are taken off with halves rounded up. Releases of the
 *  GNU assembler encode shifts that round down (VQSHRN) as those that round (VQRSHRN). */
#define TINYRT_HALVES ((INT32_C(1) << 15) + (INT32_C(1) << 20))

/** Takes 21 bits off eight sums that are TINYRT_HALVES too small, of even and of odd lanes. What
 *  leaves 16 bits after the first 16 of them leaves 8 bits after all. */
static inline void tinyrt_store_sums(int32x4_t even, int32x4_t odd, mve_pred16_t lanes, int8_t *y) {
    int16x8_t sums = vqrshrnbq_n_s32(vreinterpretq_s16_s32(even), even, 16);
    sums = vqrshrntq_n_s32(sums, odd, 16);
    vstrbq_p_s16(y, vreinterpretq_s16_s8(vqrshrnbq_n_s16(vreinterpretq_s8_s16(sums), sums, 5)),
                 lanes);
}

/** Sums of a's neighbours and a number. */
static inline void tinyrt_sum_repeated(int32_t factor, int32_t addend, const int8_t *a,
                                       int32_t count, int8_t *y) {
    const int32x4_t factors = vdupq_n_s32(factor);
    for (; count > 0; count -= 8, a += 8, y += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)count);
        const int16x8_t from_a = vldrbq_z_s16(a, lanes);
        tinyrt_store_sums(vmlasq_n_s32(vmovlbq_s16(from_a), factors, addend),
                          vmlasq_n_s32(vmovltq_s16(from_a), factors, addend), lanes, y);
    }
}

/** Up to eight sums of a's neighbours and b's. */
static inline void tinyrt_sum_eight(tinyrt_linear_sum p, int32x4_t factors, const int8_t *a,
                                    const int8_t *b, mve_pred16_t lanes, int8_t *y) {
    const int16x8_t from_a = vldrbq_z_s16(a, lanes);
    const int16x8_t from_b = vldrbq_z_s16(b, lanes);
    const int32x4_t even = vmlasq_n_s32(vmovlbq_s16(from_a), factors, p.addend);
    const int32x4_t odd = vmlasq_n_s32(vmovltq_s16(from_a), factors, p.addend);
    tinyrt_store_sums(vmlaq_n_s32(even, vmovlbq_s16(from_b), p.b_factor),
                      vmlaq_n_s32(odd, vmovltq_s16(from_b), p.b_factor), lanes, y);
}

#if TINYRT_ASM_LOOPS

/** Eights of them; the compiler copies vectors that instructions overwrite. */
static inline void tinyrt_sum_eights(tinyrt_linear_sum p, int32x4_t factors, const int8_t *a,
                                     const int8_t *b, int32_t eights, int8_t *y) {
    register int32_t count __asm("lr") = eights;
    __asm volatile("wls lr, lr, 2f\n"
                   "1:\n"
                   "vldrb.s16 q1, [%[a]], #8\n"
                   "vldrb.s16 q3, [%[b]], #8\n"
                   "vmovlb.s16 q0, q1\n"
                   "vmovlt.s16 q1, q1\n"
                   "vmlas.s32 q0, %q[factors], %[addend]\n"
                   "vmlas.s32 q1, %q[factors], %[addend]\n"
                   "vmovlb.s16 q2, q3\n"
                   "vmovlt.s16 q3, q3\n"
                   "vmla.s32 q0, q2, %[factor]\n"
                   "vmla.s32 q1, q3, %[factor]\n"
                   "vqrshrnb.s32 q0, q0, #16\n"
                   "vqrshrnt.s32 q0, q1, #16\n"
                   "vqrshrnb.s16 q0, q0, #5\n"
                   "vstrb.16 q0, [%[y]], #8\n"
                   "le lr, 1b\n"
                   "2:\n"
                   : [a] "+l"(a), [b] "+l"(b), [y] "+l"(y), "+r"(count)
                   : [factors] "w"(factors), [factor] "r"(p.b_factor), [addend] "r"(p.addend)
                   : "q0", "q1", "q2", "q3", "memory");
}

#else

static inline void tinyrt_sum_eights(tinyrt_linear_sum p, int32x4_t factors, const int8_t *a,
                                     const int8_t *b, int32_t eights, int8_t *y) {
    for (; eights > 0; --eights, a += 8, b += 8, y += 8) {
        tinyrt_sum_eight(p, factors, a, b, vctp16q(8), y);
    }
}

#endif

/** Sums of a's neighbours and b's. */
static inline void tinyrt_sum_neighbours(tinyrt_linear_sum p, const int8_t *a, const int8_t *b,
                                         int32_t count, int8_t *y) {
    const int32x4_t factors = vdupq_n_s32(p.a_factor);
    const int32_t whole = count & ~7;
    tinyrt_sum_eights(p, factors, a, b, whole >> 3, y);
    if (whole != count) {
        tinyrt_sum_eight(p, factors, a + whole, b + whole, vctp16q((uint32_t)(count - whole)),
                         y + whole);
    }
}

/** Sums of elements at any distance. */
static inline void tinyrt_sum_apart(tinyrt_linear_sum p, const int8_t *a, int32_t a_step,
                                    const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    for (; count > 0; --count, a += a_step, b += b_step) {
        const int32_t sum = (*a * p.a_factor) + (*b * p.b_factor) + p.addend;
        *y++ = tinyrt_to_s8(sum >> 21, 0, INT8_MIN, INT8_MAX);
    }
}

/** count outputs of elements that lie a_step and b_step apart. */
static inline void tinyrt_sum_line(tinyrt_linear_sum p, const int8_t *a, int32_t a_step,
                                   const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    const int32_t addend = p.addend - TINYRT_HALVES;
    if ((a_step == 1) && (b_step == 1)) {
        p.addend = addend;
        tinyrt_sum_neighbours(p, a, b, count, y);
    } else if ((a_step == 1) && (b_step == 0)) {
        tinyrt_sum_repeated(p.a_factor, (*b * p.b_factor) + addend, a, count, y);
    } else if ((a_step == 0) && (b_step == 1)) {
        tinyrt_sum_repeated(p.b_factor, (*a * p.a_factor) + addend, b, count, y);
    } else {
        tinyrt_sum_apart(p, a, a_step, b, b_step, count, y);
    }
}

#endif
