/** Outputs of pairs of patches by intrinsics, as the function TINYRT_PAIRS, where this is included.
 */

/** Sums of two filters over the patches behind a and b, whose first bytes are loaded already. */
static inline void TINYRT_TWO_BY_TWO(uint32_t patch, int8x16_t a_block, int8x16_t b_block,
                                     const int8_t *a, const int8_t *b, const int8_t *w,
                                     int32_t *a_sum, int32_t *b_sum) {
    int8x16_t even = tinyrt_mve_even_filter(w);
    int32_t a0 = vmladavq_s8(a_block, even);
    int32_t b0 = vmladavq_s8(b_block, even);
    int8x16_t odd = tinyrt_mve_odd_filter(w);
    int32_t a1 = vmladavq_s8(a_block, odd);
    int32_t b1 = vmladavq_s8(b_block, odd);
    w += TINYRT_MVE_FOUR_FILTERS - TINYRT_VECTOR;
    for (uint32_t left = patch >> 16; left != 0; --left) {
        a_block = vldrbq_s8(a);
        b_block = vldrbq_s8(b);
        even = tinyrt_mve_even_filter(w + TINYRT_VECTOR);
        odd = tinyrt_mve_odd_filter(w + TINYRT_VECTOR);
        a0 = vmladavaq_s8(a0, a_block, even);
        b0 = vmladavaq_s8(b0, b_block, even);
        a1 = vmladavaq_s8(a1, a_block, odd);
        b1 = vmladavaq_s8(b1, b_block, odd);
        a += TINYRT_VECTOR;
        b += TINYRT_VECTOR;
        w += TINYRT_MVE_FOUR_FILTERS;
    }
    a_sum[0] = a0, a_sum[1] = a1;
    b_sum[0] = b0, b_sum[1] = b1;
}

/** Four channels of all pairs. */
static inline void TINYRT_PAIRS(const tinyrt_mve_pairs *pairs, tinyrt_mve_outputs outputs,
                                const int8_t *w, const int32_t *scales, int8_t *y) {
    const int8_t *const end = pairs->a_end;
    const int32_t x_step = (int32_t)(pairs->b - pairs->a);
    const int32_t y_step = (int32_t)(pairs->y_of_b - pairs->y);
    const uint32_t patch = pairs->patch;
    const mve_pred16_t lanes = (mve_pred16_t)(patch & 0xFFFFU);
    const int32x4_t bias = vldrwq_s32(scales);
    const int32x4_t mult = vldrwq_s32(scales + 4);
    const int32x4_t shift = vldrbq_s32((const int8_t *)(scales + 8));
    for (const int8_t *a = pairs->a; a != end; a += 2 * x_step) {
        const int8_t *const b = a + x_step;
        int32_t a_sum[4];
        int32_t b_sum[4];
        const int8x16_t a_first = vldrbq_z_s8(a - TINYRT_VECTOR, lanes);
        const int8x16_t b_first = vldrbq_z_s8(b - TINYRT_VECTOR, lanes);
        TINYRT_TWO_BY_TWO(patch, a_first, b_first, a, b, w, a_sum, b_sum);
        TINYRT_TWO_BY_TWO(patch, a_first, b_first, a, b, w + TINYRT_MVE_FOUR_FILTERS / 2, a_sum + 2,
                          b_sum + 2);
        int32x4_t a_value = vaddq_s32(tinyrt_mve_load_sums(a_sum), bias);
        int32x4_t b_value = vaddq_s32(tinyrt_mve_load_sums(b_sum), bias);
#if TINYRT_ANY_ROUNDING
        a_value = tinyrt_mve_finish(outputs, a_value, mult, shift);
        b_value = tinyrt_mve_finish(outputs, b_value, mult, shift);
#else
        /* Side by side in 16 bits; for the sign, see tinyrt_mve_finish. */
        const int32x4_t a_high =
            vqdmlahq_n_s32(vqrdmulhq_s32(a_value, mult), a_value, outputs.rounding);
        const int32x4_t b_high =
            vqdmlahq_n_s32(vqrdmulhq_s32(b_value, mult), b_value, outputs.rounding);
        int16x8_t both = vqmovnbq_s32(vreinterpretq_s16_s32(a_value), vrshlq_s32(a_high, shift));
        both = vqaddq_n_s16(vqmovntq_s32(both, vrshlq_s32(b_high, shift)), (int16_t)outputs.y_zp);
        a_value = vreinterpretq_s32_s8(vqmovnbq_s16(vreinterpretq_s8_s32(b_value), both));
        b_value = vshrq_n_s32(a_value, 16);
#endif
        vstrbq_s32(y, a_value);
        y += y_step;
        vstrbq_s32(y, b_value);
        y += y_step;
    }
}

#undef TINYRT_PAIRS
#undef TINYRT_TWO_BY_TWO
#undef TINYRT_ANY_ROUNDING
