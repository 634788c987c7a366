/** Vectors of any length as loops read them: first bytes (1 to 16), then full blocks of 16. */
#ifndef TINYRT_MVE_PATCH_H
#define TINYRT_MVE_PATCH_H

#include "tinyrt_mve.h"

/** A patch's length, as the loops want it: the full blocks from bit 16 on, below them the lanes
 *  that the first bytes take, at the end of a vector. */
static inline uint32_t tinyrt_mve_patch(int32_t length) {
    const uint32_t blocks = (uint32_t)(length - 1) / TINYRT_VECTOR;
    const uint32_t first = (uint32_t)length - blocks * TINYRT_VECTOR;
    return (blocks << 16) | (0xFFFFU & (0xFFFFU << (TINYRT_VECTOR - first)));
}

/** Bytes before a patch's full blocks, 1 to 16. */
static inline int32_t tinyrt_mve_first_bytes(int32_t length) {
    return ((length - 1) % TINYRT_VECTOR) + 1;
}

/* Sums across a vector go to even-numbered registers, of which the lower four are spared by all
 * options. There are eight with lr: enough for four filters and two patches, but the compiler
 * copies and spills where more than four are in use, and moves lanes through memory. */

/** Assembly that takes a patch times four filters, from operands of these names: sums and patch,
 *  from, which points behind the patch's first bytes, w and p0. load, mul and mula are instructions
 *  for its elements, loadt is load under a mask, and four(mul) takes the vector in q0 times
 *  the filters, to r0, r2, r4 and r6; split is what then happens to these, and split_sums to sums.
 */
#define TINYRT_MVE_DOT_OF_PATCH(loadt, load, mul, mula, four, split, split_sums)                   \
    TINYRT_MVE_KEEP_P0                                                                             \
    "vmsr p0, %[patch]\n"                                                                          \
    "vpst\n" loadt " q0, [%[from], #-16]\n" four(                                                  \
        mul) "lsr %[patch], %[patch], #16\n"                                                       \
             "wls lr, %[patch], 2f\n"                                                              \
             "1:\n" load " q0, [%[from]], #16\n" four(                                             \
                 mula) "le lr, 1b\n"                                                               \
                       "2:\n" split "vmov %q[sums][2], %q[sums][0], r0, r4\n"                      \
                       "vmov %q[sums][3], %q[sums][1], r2, r6\n" split_sums TINYRT_MVE_RESTORE_P0

#define TINYRT_MVE_DOT_CLOBBERS                                                                    \
    "r0", "r2", "r4", "r6", "lr", "q0", "q1", "cc", "memory" TINYRT_MVE_CLOBBERS_P0

#endif
