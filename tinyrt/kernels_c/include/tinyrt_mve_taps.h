/** Depthwise sums of two output points and eight channels, for cores with MVE.
 *
 *  Products of int8 are added in 16 bits two by two, then in 32 bits: even and odd channels apart,
 * as the widening instructions take them. */
#ifndef TINYRT_MVE_TAPS_H
#define TINYRT_MVE_TAPS_H

#include "tinyrt_mve.h"

/** Channels of a block: int16 lanes of a vector. */
#define TINYRT_LANES 8

/** Even and odd channels of two points. */
typedef struct {
    int32x4_t a_even;
    int32x4_t a_odd;
    int32x4_t b_even;
    int32x4_t b_odd;
} tinyrt_mve_sums;

/** What all points of a block of channels share. The assembly below knows the offsets. */
typedef struct {
    int32x4_t mult_even;
    int32x4_t mult_odd;
    int32x4_t right_even;
    int32x4_t right_odd;
    int32x4_t left_even;
    int32x4_t left_odd;
    int16x8_t act_min;
    int16x8_t act_max;
    int32_t y_zp;
    uint32_t lanes;
} tinyrt_mve_block;

#if TINYRT_MVE_ASM

/* The compiler sums up in an order of its own, and spills. */

/** Widens the sums q1 and q2 and adds them to those of the points a and b. */
#define TINYRT_MVE_WIDEN                                                                           \
    "vmovlb.s16 q3, q1\n"                                                                          \
    "vmovlt.s16 q1, q1\n"                                                                          \
    "vadd.i32 %q[a_even], %q[a_even], q3\n"                                                        \
    "vadd.i32 %q[a_odd], %q[a_odd], q1\n"                                                          \
    "vmovlb.s16 q3, q2\n"                                                                          \
    "vmovlt.s16 q2, q2\n"                                                                          \
    "vadd.i32 %q[b_even], %q[b_even], q3\n"                                                        \
    "vadd.i32 %q[b_odd], %q[b_odd], q2\n"

#define TINYRT_MVE_FIRST_TAP(w, x)                                                                 \
    "vldrb.s16 q0, [%[w], #" w "]\n"                                                               \
    "vldrb.s16 q1, [%[a], #" x "]\n"                                                               \
    "vldrb.s16 q2, [%[b], #" x "]\n"                                                               \
    "vmul.i16 q1, q1, q0\n"                                                                        \
    "vmul.i16 q2, q2, q0\n"

#define TINYRT_MVE_SECOND_TAP(w, x)                                                                \
    "vldrb.s16 q0, [%[w], #" w "]\n"                                                               \
    "vldrb.s16 q3, [%[a], #" x "]\n"                                                               \
    "vmul.i16 q3, q3, q0\n"                                                                        \
    "vadd.i16 q1, q1, q3\n"                                                                        \
    "vldrb.s16 q3, [%[b], #" x "]\n"                                                               \
    "vmul.i16 q3, q3, q0\n"                                                                        \
    "vadd.i16 q2, q2, q3\n"

#define TINYRT_MVE_NEXT_LINE                                                                       \
    "add %[a], %[line]\n"                                                                          \
    "add %[b], %[line]\n"

#define TINYRT_MVE_SUMS(s)                                                                         \
    [a_even] "+w"((s)->a_even), [a_odd] "+w"((s)->a_odd), [b_even] "+w"((s)->b_even),              \
        [b_odd] "+w"((s)->b_odd)

/** Adds a 3x3 window to the sums; line: bytes from one line to the next. */
static inline void tinyrt_mve_taps_3x3(tinyrt_mve_sums *sums, const int8_t *a, const int8_t *b,
                                       const int8_t *w, int32_t line) {
    __asm volatile(
        TINYRT_MVE_FIRST_TAP("0", "0") TINYRT_MVE_SECOND_TAP(
            "8", "8") TINYRT_MVE_WIDEN TINYRT_MVE_FIRST_TAP("16", "16")
            TINYRT_MVE_NEXT_LINE TINYRT_MVE_SECOND_TAP("24", "0")
                TINYRT_MVE_WIDEN TINYRT_MVE_FIRST_TAP("32", "8") TINYRT_MVE_SECOND_TAP("40", "16")
                    TINYRT_MVE_WIDEN TINYRT_MVE_NEXT_LINE TINYRT_MVE_FIRST_TAP("48", "0")
                        TINYRT_MVE_SECOND_TAP("56", "8")
                            TINYRT_MVE_WIDEN TINYRT_MVE_FIRST_TAP("64", "16") TINYRT_MVE_WIDEN
        : TINYRT_MVE_SUMS(sums), [a] "+l"(a), [b] "+l"(b)
        : [w] "l"(w), [line] "r"(line)
        : "q0", "q1", "q2", "q3", "memory");
}

/** Adds two taps, step bytes apart, to the sums. */
static inline void tinyrt_mve_two_taps(tinyrt_mve_sums *sums, const int8_t *a, const int8_t *b,
                                       const int8_t *w, int32_t step) {
    __asm volatile(TINYRT_MVE_FIRST_TAP("0", "0") "add %[a], %[step]\n"
                                                  "add %[b], %[step]\n" TINYRT_MVE_SECOND_TAP(
                                                      "8", "0") TINYRT_MVE_WIDEN
                   : TINYRT_MVE_SUMS(sums), [a] "+l"(a), [b] "+l"(b)
                   : [w] "l"(w), [step] "r"(step)
                   : "q0", "q1", "q2", "q3", "memory");
}

/** Adds one tap to the sums. */
static inline void tinyrt_mve_one_tap(tinyrt_mve_sums *sums, const int8_t *a, const int8_t *b,
                                      const int8_t *w) {
    __asm volatile(TINYRT_MVE_FIRST_TAP("0", "0") TINYRT_MVE_WIDEN
                   : TINYRT_MVE_SUMS(sums)
                   : [a] "l"(a), [b] "l"(b), [w] "l"(w)
                   : "q0", "q1", "q2", "q3", "memory");
}

/** See tinyrt_mve_requantise_positive. */
#define TINYRT_MVE_HALF_POSITIVE(half, left, right, mult)                                          \
    "vldrw.32 q0, [%[block], #" mult "]\n"                                                         \
    "vldrw.32 q1, [%[block], #" right "]\n"                                                        \
    "vqrdmulh.s32 %q[a_" half "], %q[a_" half "], q0\n"                                            \
    "vqrdmulh.s32 %q[b_" half "], %q[b_" half "], q0\n"                                            \
    "vrshl.s32 %q[a_" half "], %q[a_" half "], q1\n"                                               \
    "vrshl.s32 %q[b_" half "], %q[b_" half "], q1\n"

/** See tinyrt_mve_requantise. */
#define TINYRT_MVE_HALF_ANY(half, left, right, mult)                                               \
    "vldrw.32 q2, [%[block], #" left "]\n"                                                         \
    "vldrw.32 q0, [%[block], #" mult "]\n"                                                         \
    "vldrw.32 q1, [%[block], #" right "]\n"                                                        \
    "vshl.s32 %q[a_" half "], %q[a_" half "], q2\n"                                                \
    "vshl.s32 %q[b_" half "], %q[b_" half "], q2\n"                                                \
    "vqrdmulh.s32 %q[a_" half "], %q[a_" half "], q0\n"                                            \
    "vqrdmulh.s32 %q[b_" half "], %q[b_" half "], q0\n"                                            \
    "vand q2, %q[a_" half "], q1\n"                                                                \
    "vand q3, %q[b_" half "], q1\n"                                                                \
    "vshr.s32 q2, q2, #31\n"                                                                       \
    "vshr.s32 q3, q3, #31\n"                                                                       \
    "vqadd.s32 %q[a_" half "], %q[a_" half "], q2\n"                                               \
    "vqadd.s32 %q[b_" half "], %q[b_" half "], q3\n"                                               \
    "vrshl.s32 %q[a_" half "], %q[a_" half "], q1\n"                                               \
    "vrshl.s32 %q[b_" half "], %q[b_" half "], q1\n"

#define TINYRT_MVE_FINISH(half_of)                                                                 \
    __asm volatile(half_of("even", "64", "32", "0") half_of(                                       \
                       "odd", "80", "48", "16") "vqmovnb.s32 q0, %q[a_even]\n"                     \
                                                "vqmovnb.s32 q1, %q[b_even]\n"                     \
                                                "vqmovnt.s32 q0, %q[a_odd]\n"                      \
                                                "vqmovnt.s32 q1, %q[b_odd]\n"                      \
                                                "vldrw.32 q2, [%[block], #96]\n"                   \
                                                "vldrw.32 q3, [%[block], #112]\n"                  \
                                                "ldrd %[y_zp], %[lanes], [%[block], #128]\n"       \
                                                "vqadd.s16 q0, q0, %[y_zp]\n"                      \
                                                "vqadd.s16 q1, q1, %[y_zp]\n"                      \
                                                "vmsr p0, %[lanes]\n"                              \
                                                "vmax.s16 q0, q0, q2\n"                            \
                                                "vmax.s16 q1, q1, q2\n"                            \
                                                "vmin.s16 q0, q0, q3\n"                            \
                                                "vmin.s16 q1, q1, q3\n"                            \
                                                "vpstt\n"                                          \
                                                "vstrbt.16 q0, [%[y_a]]\n"                         \
                                                "vstrbt.16 q1, [%[y_b]]\n"                         \
                   : TINYRT_MVE_SUMS(sums), [y_zp] "=&r"(y_zp), [lanes] "=&r"(lanes)               \
                   : [block] "r"(block), [y_a] "l"(y_a), [y_b] "l"(y_b)                            \
                   : "q0", "q1", "q2", "q3", "memory")

/** Writes the outputs of both points. */
static inline void tinyrt_mve_finish(const tinyrt_mve_block *block, int32_t only_positive,
                                     tinyrt_mve_sums *sums, int8_t *y_a, int8_t *y_b) {
    uint32_t lanes;
    int32_t y_zp;
    if (only_positive) {
        TINYRT_MVE_FINISH(TINYRT_MVE_HALF_POSITIVE);
    } else {
        TINYRT_MVE_FINISH(TINYRT_MVE_HALF_ANY);
    }
}

#else

static inline void tinyrt_mve_widen(tinyrt_mve_sums *sums, int16x8_t a, int16x8_t b) {
    sums->a_even = vaddq_s32(sums->a_even, vmovlbq_s16(a));
    sums->a_odd = vaddq_s32(sums->a_odd, vmovltq_s16(a));
    sums->b_even = vaddq_s32(sums->b_even, vmovlbq_s16(b));
    sums->b_odd = vaddq_s32(sums->b_odd, vmovltq_s16(b));
}

static inline void tinyrt_mve_one_tap(tinyrt_mve_sums *sums, const int8_t *a, const int8_t *b,
                                      const int8_t *w) {
    const int16x8_t tap = vldrbq_s16(w);
    tinyrt_mve_widen(sums, vmulq_s16(vldrbq_s16(a), tap), vmulq_s16(vldrbq_s16(b), tap));
}

static inline void tinyrt_mve_two_taps(tinyrt_mve_sums *sums, const int8_t *a, const int8_t *b,
                                       const int8_t *w, int32_t step) {
    tinyrt_mve_one_tap(sums, a, b, w);
    tinyrt_mve_one_tap(sums, a + step, b + step, w + TINYRT_LANES);
}

static inline void tinyrt_mve_taps_3x3(tinyrt_mve_sums *sums, const int8_t *a, const int8_t *b,
                                       const int8_t *w, int32_t line) {
    for (int32_t tap = 0; tap < 9; ++tap) {
        const int32_t at = tap / 3 * line + tap % 3 * TINYRT_LANES;
        tinyrt_mve_one_tap(sums, a + at, b + at, w + tap * TINYRT_LANES);
    }
}

static inline int32x4_t tinyrt_mve_scale(int32x4_t value, int32x4_t left, int32x4_t right,
                                         int32x4_t mult) {
    return tinyrt_mve_rounding_shift_right(vqrdmulhq_s32(vshlq_s32(value, left), mult), right);
}

static inline void tinyrt_mve_store(const tinyrt_mve_block *block, int32x4_t even, int32x4_t odd,
                                    int8_t *y) {
    even = tinyrt_mve_scale(even, block->left_even, block->right_even, block->mult_even);
    odd = tinyrt_mve_scale(odd, block->left_odd, block->right_odd, block->mult_odd);
    int16x8_t value = vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd);
    value = vqaddq_n_s16(value, (int16_t)block->y_zp);
    value = vminq_s16(vmaxq_s16(value, block->act_min), block->act_max);
    vstrbq_p_s16(y, value, (mve_pred16_t)block->lanes);
}

static inline void tinyrt_mve_finish(const tinyrt_mve_block *block, int32_t only_positive,
                                     tinyrt_mve_sums *sums, int8_t *y_a, int8_t *y_b) {
    (void)only_positive;
    tinyrt_mve_store(block, sums->a_even, sums->a_odd, y_a);
    tinyrt_mve_store(block, sums->b_even, sums->b_odd, y_b);
}

#endif

#endif
