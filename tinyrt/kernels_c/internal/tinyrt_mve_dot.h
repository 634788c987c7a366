/** Dot products of patches with four filters, for cores with MVE.
 *
 *  A patch has first bytes (1 to 16), then full blocks of 16. The filters lie interleaved: 16
 *  weights of each of the four, the first block filled up with zeros in front. Of weights of four
 *  bits, two filters share a byte, 16 * w1 + w0: with it, a product adds 16 * s1 + s0 to a sum, and
 *  shifted left by 4 bits, 16 * s0.
 *
 *  TINYRT_WEIGHT_BITS, 4 or 8, is set where this is included. */
#ifndef TINYRT_MVE_DOT_H
#define TINYRT_MVE_DOT_H

#include "tinyrt_flexible.h"
#include "tinyrt_mve.h"
#include "tinyrt_mve_patch.h"

#if TINYRT_ASM_LOOPS

#if TINYRT_WEIGHT_BITS == 4

/** 16 times every sum, and how to take the 16 away. */
#define TINYRT_MVE_SEPARATE(a0, a1, a2, a3)                                                        \
    "sub " a1 ", " a1 ", " a0 ", asr #4\n"                                                         \
    "sub " a3 ", " a3 ", " a2 ", asr #4\n"
#define TINYRT_MVE_DIVIDE(q) "vshr.s32 " q ", " q ", #4\n"

#define TINYRT_MVE_TWO_4X1(mul, w, a0, a1)                                                         \
    "vldrb.8 q1, [" w "], #16\n" mul " " a1 ", q0, q1\n"                                           \
    "vshl.i8 q1, q1, #4\n" mul " " a0 ", q0, q1\n"
#define TINYRT_MVE_MULTIPLY_4X1(mul, w, a0, a1, a2, a3)                                            \
    TINYRT_MVE_TWO_4X1(mul, w, a0, a1) TINYRT_MVE_TWO_4X1(mul, w, a2, a3)

#else

#define TINYRT_MVE_SEPARATE(a0, a1, a2, a3) ""
#define TINYRT_MVE_DIVIDE(q) ""

#define TINYRT_MVE_MULTIPLY_4X1(mul, w, a0, a1, a2, a3)                                            \
    "vldrb.8 q1, [" w "], #16\n" mul " " a0 ", q0, q1\n"                                           \
    "vldrb.8 q1, [" w "], #16\n" mul " " a1 ", q0, q1\n"                                           \
    "vldrb.8 q1, [" w "], #16\n" mul " " a2 ", q0, q1\n"                                           \
    "vldrb.8 q1, [" w "], #16\n" mul " " a3 ", q0, q1\n"

#endif

#define TINYRT_MVE_FOUR(mul) TINYRT_MVE_MULTIPLY_4X1(mul, "%[w]", "r0", "r2", "r4", "r6")

/** Lane i: the dot product of the patch with filter i. a points behind the patch's first bytes;
 *  w goes on to the next filters. */
static inline int32x4_t tinyrt_mve_next_dot(uint32_t patch, const int8_t *a, const int8_t **w) {
    const int8_t *filters = *w;
    int32x4_t sums;
    uint32_t p0;
    (void)p0;
    __asm volatile(TINYRT_MVE_DOT_OF_PATCH(
                       "vldrbt.8", "vldrb.8", "vmladav.s8", "vmladava.s8", TINYRT_MVE_FOUR,
                       TINYRT_MVE_SEPARATE("r0", "r2", "r4", "r6"), TINYRT_MVE_DIVIDE("%q[sums]"))
                   : [sums] "=w"(sums), [patch] "+r"(patch), [from] "+r"(a),
                     [w] "+r"(filters)TINYRT_MVE_KEPT_P0
                   :
                   : TINYRT_MVE_DOT_CLOBBERS);
    *w = filters;
    return sums;
}

#else

#include "tinyrt_mve_dot_c.h"

#endif

/** As tinyrt_mve_next_dot, of these filters. */
static inline int32x4_t tinyrt_mve_dot(uint32_t patch, const int8_t *a, const int8_t *w) {
    return tinyrt_mve_next_dot(patch, a, &w);
}

#endif
