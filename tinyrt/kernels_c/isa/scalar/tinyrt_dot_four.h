/** Products of one row of activations with four output channels, tap by tap. */
#ifndef TINYRT_DOT_FOUR_H
#define TINYRT_DOT_FOUR_H

#include "tinyrt_types.h"

/* Adds the products of all taps to the sums of four channels: of the even ones, and 256 times those
 * of the odd ones plus their neighbour's. w holds for every tap a word, with 256 * w1 + w0 in the
 * low half and 256 * w3 + w2 in the high one. Returns the end of w. */

#if defined(TINYRT_THUMB_ASSEMBLY) && __ARM_ARCH_ISA_THUMB == 2

#define TINYRT_TWO_CHANNELS(even, odd)                                                             \
    "ldrsh %[t], [%[w]], #2\n"                                                                     \
    "mla %[a" odd "], %[t], %[v], %[a" odd "]\n"                                                   \
    "sxtb.w %[t], %[t]\n"                                                                          \
    "mla %[a" even "], %[t], %[v], %[a" even "]\n"
#define TINYRT_TAP                                                                                 \
    "ldrsb %[v], [%[x]], #1\n" TINYRT_TWO_CHANNELS("0", "1") TINYRT_TWO_CHANNELS("2", "3")
#define TINYRT_TAP_CODE 36

/* Any number of taps. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_LAST_LOOP TINYRT_TAP
#else
#define TINYRT_LAST_LOOP TINYRT_LOOP_OF(TINYRT_TAP TINYRT_TAP TINYRT_TAP TINYRT_TAP)
#endif

static inline const int32_t *tinyrt_dot_four(const int32_t *w, const int8_t *x, int32_t taps,
                                             int32_t *acc) {
    const int8_t *const end = x + taps;
    const int32_t skip = tinyrt_skipped(taps, TINYRT_TAP_CODE);
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    int32_t t, v;
    (void)skip;
    __asm(".syntax unified\n" TINYRT_ENTER("%[t]") TINYRT_LAST_LOOP "cmp %[x], %[end]\n"
                                                                    "bne 1b\n"
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [w] "+r"(w), [x] "+r"(x),
            [t] "=&r"(t), [v] "=&r"(v)
          : [end] "r"(end)TINYRT_SKIP(skip)
          : "cc", "memory");
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    return w;
}

#undef TINYRT_LAST_LOOP
#undef TINYRT_TAP
#undef TINYRT_TAP_CODE
#undef TINYRT_TWO_CHANNELS

#else

static inline const int32_t *tinyrt_dot_four(const int32_t *w, const int8_t *x, int32_t taps,
                                             int32_t *acc) {
    uint32_t a0 = (uint32_t)acc[0], a1 = (uint32_t)acc[1];
    uint32_t a2 = (uint32_t)acc[2], a3 = (uint32_t)acc[3];
    for (const int8_t *const end = x + taps; x != end; ++x, ++w) {
        const int32_t word = *w;
        a0 += (uint32_t)((int8_t)word * *x);
        a1 += (uint32_t)((int16_t)word * *x);
        a2 += (uint32_t)((int8_t)(word >> 16) * *x);
        a3 += (uint32_t)((word >> 16) * *x);
    }
    acc[0] = (int32_t)a0, acc[1] = (int32_t)a1, acc[2] = (int32_t)a2, acc[3] = (int32_t)a3;
    return w;
}

#endif

#endif
