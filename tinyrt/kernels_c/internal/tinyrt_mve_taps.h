/** Depthwise sums of two output points and eight channels, for cores with MVE.
 *
 *  Products of int8 are added in 16 bits two by two, then in 32 bits: even and odd channels apart,
 * as the widening instructions take them. */
#ifndef TINYRT_MVE_TAPS_H
#define TINYRT_MVE_TAPS_H

#include "tinyrt_mve.h"

/** Channels of a block: int16 lanes of a vector. */
#define TINYRT_LANES 8

/** A weight, and how a vector of them is loaded: int8, or int16 up to 255, whose products with int8
 *  fit in 16 bits, too. */
#if TINYRT_WEIGHT_BITS == 16
#define TINYRT_WEIGHT int16_t
#define TINYRT_MVE_LOAD_WEIGHTS "vldrh.u16 q0, [%[w]], #16\n"
#define TINYRT_MVE_LOAD_WEIGHTS_3X3(tap) "vldrh.u16 q0, [%[w], #(2*" tap ")]\n"
#else
#define TINYRT_WEIGHT int8_t
#define TINYRT_MVE_LOAD_WEIGHTS "vldrb.s16 q0, [%[w]], #8\n"
#define TINYRT_MVE_LOAD_WEIGHTS_3X3(tap) "vldrb.s16 q0, [%[w], #" tap "]\n"
#endif

/** What all points of a block of channels share, and how the loop over points walks. The assembly
 *  below knows the offsets. */
typedef struct {
    int32x4_t mult_even;
    int32x4_t mult_odd;
    int32x4_t right_even;
    int32x4_t right_odd;
    int32x4_t left_even;
    int32x4_t left_odd;
    int32x4_t bias_even;
    int32x4_t bias_odd;
    int16x8_t act_min;
    int16x8_t act_max;
    const TINYRT_WEIGHT *w;
    int32_t x_pair; /* from the first of two points to the second */
    int32_t y_zp;
    uint32_t lanes;
    int32_t y_pair;
    int32_t y_next;
    int32_t tap_step;
    int32_t line_step; /* from behind a line's last tap to the next line */
    int32_t lines;
    int32_t tap_pairs;
    int32_t single_taps;
    int32_t x_next; /* from behind the last line to the next two points */
} tinyrt_mve_block;

#if TINYRT_ASM_LOOPS

/* The compiler sums up in an order of its own, and spills. q0 has a tap's weights, q1 and q2 are
 * the sums of a pair of taps, q4 to q7 those of the window: even and odd channels of both points.
 */

#define TINYRT_MVE_FIRST_TAP                                                                       \
    TINYRT_MVE_LOAD_WEIGHTS                                                                        \
    "vldrb.s16 q1, [%[a]]\n"                                                                       \
    "vldrb.s16 q2, [%[b]]\n"                                                                       \
    "vmul.i16 q1, q1, q0\n"                                                                        \
    "vmul.i16 q2, q2, q0\n"

#define TINYRT_MVE_SECOND_TAP                                                                      \
    TINYRT_MVE_LOAD_WEIGHTS                                                                        \
    "vldrb.s16 q3, [%[a]]\n"                                                                       \
    "vmul.i16 q3, q3, q0\n"                                                                        \
    "vadd.i16 q1, q1, q3\n"                                                                        \
    "vldrb.s16 q3, [%[b]]\n"                                                                       \
    "vmul.i16 q3, q3, q0\n"                                                                        \
    "vadd.i16 q2, q2, q3\n"

#define TINYRT_MVE_WIDEN                                                                           \
    "vmovlb.s16 q3, q1\n"                                                                          \
    "vmovlt.s16 q1, q1\n"                                                                          \
    "vadd.i32 q4, q4, q3\n"                                                                        \
    "vadd.i32 q5, q5, q1\n"                                                                        \
    "vmovlb.s16 q3, q2\n"                                                                          \
    "vmovlt.s16 q2, q2\n"                                                                          \
    "vadd.i32 q6, q6, q3\n"                                                                        \
    "vadd.i32 q7, q7, q2\n"

#define TINYRT_MVE_ADVANCE                                                                         \
    "add %[a], %[step]\n"                                                                          \
    "add %[b], %[step]\n"

/** The window's taps, line by line. */
#define TINYRT_MVE_TAPS                                                                            \
    "2:\n"                                                                                         \
    "ldr %[t], [%[block], #196]\n"                                                                 \
    "wls lr, %[t], 4f\n"                                                                           \
    "3:\n" TINYRT_MVE_FIRST_TAP TINYRT_MVE_ADVANCE TINYRT_MVE_SECOND_TAP                           \
        TINYRT_MVE_ADVANCE TINYRT_MVE_WIDEN "le lr, 3b\n"                                          \
    "4:\n"                                                                                         \
    "ldr %[t], [%[block], #200]\n"                                                                 \
    "wls lr, %[t], 6f\n"                                                                           \
    "5:\n" TINYRT_MVE_FIRST_TAP TINYRT_MVE_ADVANCE TINYRT_MVE_WIDEN "le lr, 5b\n"                  \
    "6:\n"                                                                                         \
    "ldr %[t], [%[block], #188]\n"                                                                 \
    "add %[a], %[t]\n"                                                                             \
    "add %[b], %[t]\n"                                                                             \
    "subs %[lines], #1\n"                                                                          \
    "bne 2b\n"

/** The same for 3x3 taps that lie side by side. */
#define TINYRT_MVE_TAP_3X3(q, x, offset) "vldrb.s16 " q ", [%[" x "], #" offset "]\n"

#define TINYRT_MVE_FIRST_3X3(w, x)                                                                 \
    TINYRT_MVE_LOAD_WEIGHTS_3X3(w)                                                                 \
    TINYRT_MVE_TAP_3X3("q1", "a", x)                                                               \
    TINYRT_MVE_TAP_3X3("q2", "b", x)                                                               \
    "vmul.i16 q1, q1, q0\n"                                                                        \
    "vmul.i16 q2, q2, q0\n"

#define TINYRT_MVE_SECOND_3X3(w, x)                                                                \
    TINYRT_MVE_LOAD_WEIGHTS_3X3(w)                                                                 \
    TINYRT_MVE_TAP_3X3("q3", "a", x)                                                               \
    "vmul.i16 q3, q3, q0\n"                                                                        \
    "vadd.i16 q1, q1, q3\n" TINYRT_MVE_TAP_3X3("q3", "b", x) "vmul.i16 q3, q3, q0\n"               \
                                                             "vadd.i16 q2, q2, q3\n"

#define TINYRT_MVE_TAPS_3X3                                                                        \
    TINYRT_MVE_FIRST_3X3("0", "0")                                                                 \
    TINYRT_MVE_SECOND_3X3("8", "8")                                                                \
    TINYRT_MVE_WIDEN TINYRT_MVE_FIRST_3X3("16", "16")                                              \
        TINYRT_MVE_ADVANCE TINYRT_MVE_SECOND_3X3("24", "0")                                        \
            TINYRT_MVE_WIDEN TINYRT_MVE_FIRST_3X3("32", "8") TINYRT_MVE_SECOND_3X3("40", "16")     \
                TINYRT_MVE_WIDEN TINYRT_MVE_ADVANCE TINYRT_MVE_FIRST_3X3("48", "0")                \
                    TINYRT_MVE_SECOND_3X3("56", "8")                                               \
                        TINYRT_MVE_WIDEN TINYRT_MVE_FIRST_3X3("64", "16") TINYRT_MVE_WIDEN

/** Requantises the even or the odd channels of both points, where no exponent is above 0 and
 * results below 0 are clamped, however they are rounded. */
#define TINYRT_MVE_SCALE_POSITIVE(a, b, mult, right)                                               \
    "vldrw.32 q0, [%[block], #" mult "]\n"                                                         \
    "vldrw.32 q1, [%[block], #" right "]\n"                                                        \
    "vqrdmulh.s32 " a ", " a ", q0\n"                                                              \
    "vqrdmulh.s32 " b ", " b ", q0\n"                                                              \
    "vrshl.s32 " a ", " a ", q1\n"                                                                 \
    "vrshl.s32 " b ", " b ", q1\n"

/** The same, for any results and exponents. */
#define TINYRT_MVE_SCALE(a, b, mult, right, left)                                                  \
    "vldrw.32 q2, [%[block], #" left "]\n"                                                         \
    "vldrw.32 q0, [%[block], #" mult "]\n"                                                         \
    "vldrw.32 q1, [%[block], #" right "]\n"                                                        \
    "vshl.s32 " a ", " a ", q2\n"                                                                  \
    "vshl.s32 " b ", " b ", q2\n"                                                                  \
    "vqrdmulh.s32 " a ", " a ", q0\n"                                                              \
    "vqrdmulh.s32 " b ", " b ", q0\n"                                                              \
    "vand q2, " a ", q1\n"                                                                         \
    "vand q3, " b ", q1\n"                                                                         \
    "vshr.s32 q2, q2, #31\n"                                                                       \
    "vshr.s32 q3, q3, #31\n"                                                                       \
    "vqadd.s32 " a ", " a ", q2\n"                                                                 \
    "vqadd.s32 " b ", " b ", q3\n"                                                                 \
    "vrshl.s32 " a ", " a ", q1\n"                                                                 \
    "vrshl.s32 " b ", " b ", q1\n"

#define TINYRT_MVE_BEGIN_POINTS                                                                    \
    "1:\n"                                                                                         \
    "vldrw.32 q4, [%[block], #96]\n"                                                               \
    "vldrw.32 q5, [%[block], #112]\n"                                                              \
    "ldrd %[w], %[b], [%[block], #160]\n"                                                          \
    "vmov q6, q4\n"                                                                                \
    "vmov q7, q5\n"                                                                                \
    "add %[b], %[a]\n"

/** To 16 bits, and the output's zero point. */
#define TINYRT_MVE_NARROW                                                                          \
    "ldrd %[t], %[lines], [%[block], #168]\n"                                                      \
    "vqmovnb.s32 q0, q4\n"                                                                         \
    "vqmovnb.s32 q1, q6\n"                                                                         \
    "vqmovnt.s32 q0, q5\n"                                                                         \
    "vqmovnt.s32 q1, q7\n"                                                                         \
    "vqadd.s16 q0, q0, %[t]\n"                                                                     \
    "vqadd.s16 q1, q1, %[t]\n"                                                                     \
    "ldrd %[b], %[step], [%[block], #176]\n"                                                       \
    "ldr %[t], [%[block], #204]\n"                                                                 \
    "add %[b], %[y]\n"

#define TINYRT_MVE_END_POINTS                                                                      \
    "add %[y], %[step]\n"                                                                          \
    "add %[a], %[t]\n"                                                                             \
    "subs %[pairs], #1\n"                                                                          \
    "bne 1b\n"

#define TINYRT_MVE_POINTS(body)                                                                    \
    __asm volatile(TINYRT_MVE_KEEP_P0 body TINYRT_MVE_RESTORE_P0                                   \
                   : [a] "+l"(a), [y] "+l"(y), [pairs] "+r"(pairs), [b] "=&l"(b), [w] "=&l"(w),    \
                     [step] "=&r"(step), [lines] "=&r"(lines), [t] "=&r"(t)TINYRT_MVE_KEPT_P0      \
                   : [block] "r"(block)                                                            \
                   : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc",                   \
                     "memory" TINYRT_MVE_CLOBBERS_P0)

/** Computes pairs > 0 pairs of points; a is the first tap of the first one.
 *  common: the window is 3x3, its taps lie side by side, and line_step and x_next count from a
 * line's first tap; eight channels, exponents up to 0, outputs clamped to all of int8 from y_zp on.
 */
static inline void tinyrt_mve_point_pairs(const tinyrt_mve_block *block, int common, int32_t pairs,
                                          const int8_t *a, int8_t *y) {
    const int8_t *b;
    const TINYRT_WEIGHT *w;
    int32_t step, lines, t;
    uint32_t p0;
    (void)p0;
    if (common != 0) {
        TINYRT_MVE_POINTS(
            TINYRT_MVE_BEGIN_POINTS
            "ldr %[step], [%[block], #188]\n" TINYRT_MVE_TAPS_3X3 TINYRT_MVE_SCALE_POSITIVE(
                "q4", "q6", "0", "32") TINYRT_MVE_SCALE_POSITIVE("q5", "q7", "16", "48")
                TINYRT_MVE_NARROW "vqmovnb.s16 q0, q0\n"
                                  "vqmovnb.s16 q1, q1\n"
                                  "vstrb.16 q0, [%[y]]\n"
                                  "vstrb.16 q1, [%[b]]\n" TINYRT_MVE_END_POINTS);
    } else {
        TINYRT_MVE_POINTS(TINYRT_MVE_BEGIN_POINTS
                          "ldr %[step], [%[block], #184]\n"
                          "ldr %[lines], [%[block], #192]\n" TINYRT_MVE_TAPS TINYRT_MVE_SCALE(
                              "q4", "q6", "0", "32", "64")
                              TINYRT_MVE_SCALE("q5", "q7", "16", "48", "80") TINYRT_MVE_NARROW
                          "vldrw.32 q2, [%[block], #128]\n"
                          "vldrw.32 q3, [%[block], #144]\n"
                          "vmsr p0, %[lines]\n"
                          "vmax.s16 q0, q0, q2\n"
                          "vmax.s16 q1, q1, q2\n"
                          "vmin.s16 q0, q0, q3\n"
                          "vmin.s16 q1, q1, q3\n"
                          "vpstt\n"
                          "vstrbt.16 q0, [%[y]]\n"
                          "vstrbt.16 q1, [%[b]]\n" TINYRT_MVE_END_POINTS);
    }
}

#else

static inline int32x4_t tinyrt_mve_scale(int32x4_t value, int32x4_t left, int32x4_t right,
                                         int32x4_t mult) {
    return tinyrt_mve_rounding_shift_right(vqrdmulhq_s32(vshlq_s32(value, left), mult), right);
}

/** Sums of one point: of even and of odd channels. */
typedef struct {
    int32x4_t even;
    int32x4_t odd;
} tinyrt_mve_sums;

static inline tinyrt_mve_sums tinyrt_mve_widen(tinyrt_mve_sums sums, int16x8_t products) {
    sums.even = vaddq_s32(sums.even, vmovlbq_s16(products));
    sums.odd = vaddq_s32(sums.odd, vmovltq_s16(products));
    return sums;
}

/** Eight weights. */
static inline int16x8_t tinyrt_mve_weights(const TINYRT_WEIGHT *w) {
#if TINYRT_WEIGHT_BITS == 16
    return vldrhq_s16(w);
#else
    return vldrbq_s16(w);
#endif
}

/** A pair of taps, for both points. */
static inline void tinyrt_mve_two_taps(const int8_t *a0, const int8_t *a1, const int8_t *b0,
                                       const int8_t *b1, const TINYRT_WEIGHT *w0,
                                       const TINYRT_WEIGHT *w1, tinyrt_mve_sums *a_sums,
                                       tinyrt_mve_sums *b_sums) {
    const int16x8_t first = tinyrt_mve_weights(w0);
    const int16x8_t second = tinyrt_mve_weights(w1);
    const int16x8_t a_products =
        vaddq_s16(vmulq_s16(vldrbq_s16(a0), first), vmulq_s16(vldrbq_s16(a1), second));
    *a_sums = tinyrt_mve_widen(*a_sums, a_products);
    const int16x8_t b_products =
        vaddq_s16(vmulq_s16(vldrbq_s16(b0), first), vmulq_s16(vldrbq_s16(b1), second));
    *b_sums = tinyrt_mve_widen(*b_sums, b_products);
}

/** Eight channels of a common layer's point. */
static inline void tinyrt_mve_finish_common(const tinyrt_mve_block *block, tinyrt_mve_sums sums,
                                            int8_t *y) {
    const int32x4_t even =
        vrshlq_s32(vqrdmulhq_s32(sums.even, block->mult_even), block->right_even);
    const int32x4_t odd = vrshlq_s32(vqrdmulhq_s32(sums.odd, block->mult_odd), block->right_odd);
    const int16x8_t value = vqmovntq_s32(vqmovnbq_s32(vreinterpretq_s16_s32(sums.even), even), odd);
    const int16x8_t moved = vqaddq_n_s16(value, (int16_t)block->y_zp);
    vstrbq_s16(y, vreinterpretq_s16_s8(vqmovnbq_s16(vreinterpretq_s8_s32(sums.odd), moved)));
}

/** Eight channels of a point. */
static inline void tinyrt_mve_finish_any(const tinyrt_mve_block *block, tinyrt_mve_sums sums,
                                         int8_t *y) {
    const int32x4_t even =
        tinyrt_mve_scale(sums.even, block->left_even, block->right_even, block->mult_even);
    const int32x4_t odd =
        tinyrt_mve_scale(sums.odd, block->left_odd, block->right_odd, block->mult_odd);
    int16x8_t value = vqmovntq_s32(vqmovnbq_s32(vreinterpretq_s16_s32(even), even), odd);
    value = vqaddq_n_s16(value, (int16_t)block->y_zp);
    value = vminq_s16(vmaxq_s16(value, block->act_min), block->act_max);
    vstrbq_p_s16(y, value, (mve_pred16_t)block->lanes);
}

/** Pairs of a common layer's points: first the pairs of taps that each line begins with, then those
 *  behind them. */
static inline void tinyrt_mve_common_pairs(const tinyrt_mve_block *block, int32_t pairs,
                                           const int8_t *a, int8_t *y) {
    const int32_t line_step = block->line_step;
    const int32_t next = line_step - TINYRT_LANES;
    for (; pairs > 0; --pairs) {
        const int8_t *b = a + block->x_pair;
        const TINYRT_WEIGHT *w = block->w;
        tinyrt_mve_sums a_sums = {block->bias_even, block->bias_odd};
        tinyrt_mve_sums b_sums = a_sums;
        for (int32_t line = 3; line > 0; --line) {
            const int8_t *const a0 = a;
            const int8_t *const b0 = b;
            const TINYRT_WEIGHT *const w0 = w;
            a += TINYRT_LANES;
            b += TINYRT_LANES;
            w += TINYRT_LANES;
            tinyrt_mve_two_taps(a0, a, b0, b, w0, w, &a_sums, &b_sums);
            a += next;
            b += next;
            w += 2 * TINYRT_LANES;
        }
        a -= 3 * line_step - 2 * TINYRT_LANES;
        b -= 3 * line_step - 2 * TINYRT_LANES;
        w -= 7 * TINYRT_LANES;
        tinyrt_mve_two_taps(a, a + line_step, b, b + line_step, w, w + 3 * TINYRT_LANES, &a_sums,
                            &b_sums);
        const int16x8_t weights = tinyrt_mve_weights(w + 6 * TINYRT_LANES);
        a_sums = tinyrt_mve_widen(a_sums, vmulq_s16(vldrbq_s16(a + 2 * line_step), weights));
        b_sums = tinyrt_mve_widen(b_sums, vmulq_s16(vldrbq_s16(b + 2 * line_step), weights));
        tinyrt_mve_finish_common(block, b_sums, y + block->y_pair);
        tinyrt_mve_finish_common(block, a_sums, y);
        a += 2 * line_step - 2 * TINYRT_LANES + block->x_next;
        y += block->y_next;
    }
}

static inline void tinyrt_mve_any_pairs(const tinyrt_mve_block *block, int32_t pairs,
                                        const int8_t *a, int8_t *y) {
    const int32_t step = block->tap_step;
    for (; pairs > 0; --pairs) {
        const int8_t *b = a + block->x_pair;
        const TINYRT_WEIGHT *w = block->w;
        tinyrt_mve_sums a_sums = {block->bias_even, block->bias_odd};
        tinyrt_mve_sums b_sums = a_sums;
        for (int32_t line = block->lines; line > 0; --line) {
            for (int32_t left = block->tap_pairs; left > 0; --left) {
                const int8_t *const a0 = a;
                const int8_t *const b0 = b;
                const TINYRT_WEIGHT *const w0 = w;
                a += step;
                b += step;
                w += TINYRT_LANES;
                tinyrt_mve_two_taps(a0, a, b0, b, w0, w, &a_sums, &b_sums);
                a += step;
                b += step;
                w += TINYRT_LANES;
            }
            for (int32_t left = block->single_taps; left > 0; --left) {
                const int16x8_t weights = tinyrt_mve_weights(w);
                a_sums = tinyrt_mve_widen(a_sums, vmulq_s16(vldrbq_s16(a), weights));
                b_sums = tinyrt_mve_widen(b_sums, vmulq_s16(vldrbq_s16(b), weights));
                a += step;
                b += step;
                w += TINYRT_LANES;
            }
            a += block->line_step;
            b += block->line_step;
        }
        tinyrt_mve_finish_any(block, b_sums, y + block->y_pair);
        tinyrt_mve_finish_any(block, a_sums, y);
        a += block->x_next;
        y += block->y_next;
    }
}

static inline void tinyrt_mve_point_pairs(const tinyrt_mve_block *block, int common, int32_t pairs,
                                          const int8_t *a, int8_t *y) {
    if (common) {
        tinyrt_mve_common_pairs(block, pairs, a, y);
    } else {
        tinyrt_mve_any_pairs(block, pairs, a, y);
    }
}

#endif

#endif
