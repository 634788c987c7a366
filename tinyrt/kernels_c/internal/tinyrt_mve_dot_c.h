/** What tinyrt_mve_dot.h has in assembly by intrinsics, where this is included there. */

/** Bytes of one block of four filters. */
#define TINYRT_MVE_FOUR_FILTERS (TINYRT_WEIGHT_BITS / 2 * TINYRT_VECTOR)

/** The next block of the first of two filters; of four bits, 16 times its weights. */
static inline int8x16_t tinyrt_mve_even_filter(const int8_t *w) {
#if TINYRT_WEIGHT_BITS == 4
    return vshlq_n_s8(vldrbq_s8(w), 4);
#else
    return vldrbq_s8(w);
#endif
}

/** That of the second one; of four bits, 16 times its weights plus those of the first one. */
static inline int8x16_t tinyrt_mve_odd_filter(const int8_t *w) {
#if TINYRT_WEIGHT_BITS == 4
    return vldrbq_s8(w);
#else
    return vldrbq_s8(w + TINYRT_VECTOR);
#endif
}

/** Sums of four filters: of four bits, as tinyrt_mve_even_filter and tinyrt_mve_odd_filter have
 * them. */
static inline int32x4_t tinyrt_mve_separate(const int32_t *sum) {
    int32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
#if TINYRT_WEIGHT_BITS == 4
    s1 -= s0 >> 4;
    s3 -= s2 >> 4;
#endif
    int32x4_t sums = vdupq_n_s32(s0);
    sums = vsetq_lane_s32(s1, sums, 1);
    sums = vsetq_lane_s32(s2, sums, 2);
    sums = vsetq_lane_s32(s3, sums, 3);
#if TINYRT_WEIGHT_BITS == 4
    sums = vshrq_n_s32(sums, 4);
#endif
    return sums;
}

static inline int32x4_t tinyrt_mve_next_dot(uint32_t patch, const int8_t *a,
                                            const int8_t **filters) {
    const int8_t *w = *filters;
    const int32_t two = TINYRT_MVE_FOUR_FILTERS / 2;
    int8x16_t block = vldrbq_z_s8(a - TINYRT_VECTOR, (mve_pred16_t)(patch & 0xFFFFU));
    int32_t s0 = vmladavq_s8(block, tinyrt_mve_even_filter(w));
    int32_t s1 = vmladavq_s8(block, tinyrt_mve_odd_filter(w));
    int32_t s2 = vmladavq_s8(block, tinyrt_mve_even_filter(w + two));
    int32_t s3 = vmladavq_s8(block, tinyrt_mve_odd_filter(w + two));
    w += TINYRT_MVE_FOUR_FILTERS - TINYRT_VECTOR;
    for (uint32_t left = patch >> 16; left != 0; --left) {
        const int8_t *const next = w + TINYRT_VECTOR;
        block = vldrbq_s8(a);
        s0 = vmladavaq_s8(s0, block, tinyrt_mve_even_filter(next));
        s1 = vmladavaq_s8(s1, block, tinyrt_mve_odd_filter(next));
        s2 = vmladavaq_s8(s2, block, tinyrt_mve_even_filter(next + two));
        s3 = vmladavaq_s8(s3, block, tinyrt_mve_odd_filter(next + two));
        a += TINYRT_VECTOR;
        w += TINYRT_MVE_FOUR_FILTERS;
    }
    *filters = w + TINYRT_VECTOR;
    const int32_t sum[4] = {s0, s1, s2, s3};
    return tinyrt_mve_separate(sum);
}
