/** Dot products of a vector of int16 with four filters of int8, for cores with MVE.
 *
 *  A vector is a patch of twice as many bytes, see tinyrt_mve_patch. The filters lie interleaved: 8
 *  weights of each of the four, the first block filled up with zeros in front. */
#ifndef TINYRT_MVE_DOT16_H
#define TINYRT_MVE_DOT16_H

#include "tinyrt_flexible.h"
#include "tinyrt_mve_patch.h"

#if TINYRT_ASM_LOOPS

/* Loads that widen take their address from one of the lower eight registers. */

#define TINYRT_MVE_FILTER16(mul, sum) "vldrb.s16 q1, [%[w]], #8\n" mul " " sum ", q0, q1\n"
#define TINYRT_MVE_FOUR16(mul)                                                                     \
    TINYRT_MVE_FILTER16(mul, "r0")                                                                 \
    TINYRT_MVE_FILTER16(mul, "r2")                                                                 \
    TINYRT_MVE_FILTER16(mul, "r4")                                                                 \
    TINYRT_MVE_FILTER16(mul, "r6")

/** Lane i: the dot product of the vector with filter i. x points behind its first elements; w goes
 *  on to the next filters. Requires: sums are below 2^31. */
static inline int32x4_t tinyrt_mve_next_dot16(uint32_t patch, const int16_t *x, const int8_t **w) {
    const int8_t *filters = *w;
    int32x4_t sums;
    uint32_t p0;
    (void)p0;
    __asm volatile(TINYRT_MVE_DOT_OF_PATCH("vldrht.16", "vldrh.16", "vmladav.s16", "vmladava.s16",
                                           TINYRT_MVE_FOUR16, "", "")
                   : [sums] "=w"(sums), [patch] "+r"(patch), [from] "+r"(x),
                     [w] "+l"(filters)TINYRT_MVE_KEPT_P0
                   :
                   : TINYRT_MVE_DOT_CLOBBERS);
    *w = filters;
    return sums;
}

#undef TINYRT_MVE_FILTER16
#undef TINYRT_MVE_FOUR16

#else

static inline int32x4_t tinyrt_mve_next_dot16(uint32_t patch, const int16_t *x, const int8_t **w) {
    const int8_t *filters = *w;
    int16x8_t eight = vldrhq_z_s16(x - 8, (mve_pred16_t)(patch & 0xFFFFU));
    int32_t s0 = vmladavq_s16(eight, vldrbq_s16(filters));
    int32_t s1 = vmladavq_s16(eight, vldrbq_s16(filters + 8));
    int32_t s2 = vmladavq_s16(eight, vldrbq_s16(filters + 16));
    int32_t s3 = vmladavq_s16(eight, vldrbq_s16(filters + 24));
    for (uint32_t left = patch >> 16; left != 0; --left, x += 8) {
        filters += 32;
        eight = vldrhq_s16(x);
        s0 = vmladavaq_s16(s0, eight, vldrbq_s16(filters));
        s1 = vmladavaq_s16(s1, eight, vldrbq_s16(filters + 8));
        s2 = vmladavaq_s16(s2, eight, vldrbq_s16(filters + 16));
        s3 = vmladavaq_s16(s3, eight, vldrbq_s16(filters + 24));
    }
    *w = filters + 32;
    const int32_t sum[4] = {s0, s1, s2, s3};
    return vldrwq_s32(sum);
}

#endif

#endif
