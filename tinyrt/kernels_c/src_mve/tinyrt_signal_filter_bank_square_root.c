#include "tinyrt_signal_filter_bank.h"

#include "tinyrt_mve_wide.h"
#include "tinyrt_root_table.h"

/** About the root of x, 0 of 0: two steps of Newton's of the inverse root r of the upper 32 bits m,
 *  r <- r * (3 - m * r * r) / 2. r is below 2^31 before the second step. */
static inline uint32x4_t near_root(tinyrt_wide x) {
    const int32x4_t above = vreinterpretq_s32_u32(vclzq_u32(x.high));
    const int32x4_t below = vreinterpretq_s32_u32(vclzq_u32(x.low));
    const mve_pred16_t is_short = vcmpeqq_n_u32(x.high, 0);
    const int32x4_t shift = vbicq_n_s32(vaddq_m_s32(above, above, below, is_short), 1);
    const uint32x4_t m =
        vorrq_u32(vshlq_u32(x.high, shift), vshlq_u32(x.low, vsubq_n_s32(shift, 32)));
    /* Of 0, m is 0, too. */
    const uint32x4_t place = vqsubq_n_u32(vshrq_n_u32(m, 25), 32);
    uint32x4_t r = vshlq_n_u32(vldrbq_gather_offset_u32(TINYRT_INVERSE_ROOTS, place), 23);
    for (int32_t i = 0; i < 2; ++i) {
        const uint32x4_t one = vmulhq_u32(m, vmulhq_u32(r, r));
        const uint32x4_t rest = vsubq_u32(vdupq_n_u32(UINT32_C(3) << 28), one);
        r = vmulhq_u32(vshlq_n_u32(r, 1), vshlq_n_u32(rest, 2));
    }
    const uint32x4_t root = vqshlq_n_u32(vmulhq_u32(m, r), 2);
    return vshlq_u32(root, vnegq_s32(vshrq_n_s32(shift, 1)));
}

/** 2 * root + 1: the square of root + 1 less that of root. */
static inline tinyrt_wide step_of(uint32x4_t root) {
    const tinyrt_wide step = {vaddq_n_u32(vshlq_n_u32(root, 1), 1), vshrq_n_u32(root, 31)};
    return step;
}

static inline mve_pred16_t is_negative(tinyrt_wide x) {
    return vcmpltq_n_s32(vreinterpretq_s32_u32(x.high), 0);
}

static inline tinyrt_wide chosen(tinyrt_wide a, tinyrt_wide b, mve_pred16_t lanes) {
    const tinyrt_wide one = {vpselq_u32(a.low, b.low, lanes), vpselq_u32(a.high, b.high, lanes)};
    return one;
}

/** The nearest roots, of at most 16 bits where x has 32, and else of 32. */
static inline uint32x4_t roots_of(tinyrt_wide x) {
    uint32x4_t root = near_root(x);
    tinyrt_wide rest = tinyrt_wide_difference(x, tinyrt_wide_product(root, root));
    for (mve_pred16_t p = is_negative(rest); p != 0U; p = is_negative(rest)) {
        root = vsubq_m_n_u32(root, root, 1, p);
        rest = chosen(tinyrt_wide_sum(rest, step_of(root)), rest, p);
    }
    for (;;) {
        const tinyrt_wide less = tinyrt_wide_difference(rest, step_of(root));
        const mve_pred16_t p = vcmpgeq_n_s32(vreinterpretq_s32_u32(less.high), 0);
        if (p == 0U) {
            break;
        }
        root = vaddq_m_n_u32(root, root, 1, p);
        rest = chosen(less, rest, p);
    }
    /* The rest is at most twice the root: its upper half is 0 or 1, and more than any root then. */
    const uint32x4_t upper = vreinterpretq_u32_s32(vnegq_s32(vreinterpretq_s32_u32(rest.high)));
    const mve_pred16_t is_up = vcmphiq_u32(vorrq_u32(rest.low, upper), root);
    const uint32x4_t nearest = vaddq_m_n_u32(root, root, 1, is_up);
    const mve_pred16_t is_short = vcmpeqq_n_u32(x.high, 0);
    return vminq_m_u32(nearest, nearest, vdupq_n_u32(UINT16_MAX), is_short);
}

void tinyrt_signal_filter_bank_square_root(int32_t size, const uint64_t *TINYRT_RESTRICT x,
                                           const int32_t *bits, uint32_t *TINYRT_RESTRICT y) {
    const int32_t shift = *bits & 31;
    const uint32x4_t places = vidupq_n_u32(0, 2);
    for (int32_t i = 0; i < size; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(size - i));
        const uint32_t *const words = (const uint32_t *)(const void *)(x + i);
        const tinyrt_wide wide = {
            vldrwq_gather_shifted_offset_z_u32(words, places, lanes),
            vldrwq_gather_shifted_offset_z_u32(words + 1, places, lanes),
        };
        vstrwq_p_u32(y + i, vshlq_r_u32(roots_of(wide), -shift), lanes);
    }
}
