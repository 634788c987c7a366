/** Products of one row of int16, read where it lies, with four output channels' int8 weights. */
#ifndef TINYRT_ROW16_H
#define TINYRT_ROW16_H

#include "tinyrt_types.h"

/** A row's activations. */
typedef struct {
    const int16_t *x;
    int32_t taps;
} tinyrt_row16;

/** Requires: taps is not 0. */
static inline tinyrt_row16 tinyrt_row16_of(const int16_t *x, int32_t taps) {
    const tinyrt_row16 row = {x, taps};
    return row;
}

/* Sets sum to a row's products with four channels. w holds for every tap a word, the four weights.
 * Requires: sums are below 2^31. Returns the end of w. */

#if defined(TINYRT_THUMB_ASSEMBLY) && __ARM_ARCH_ISA_THUMB == 2

#define TINYRT_CHANNEL(i)                                                                          \
    "ldrsb %[t], [%[w]], #1\n"                                                                     \
    "mla %[a" i "], %[t], %[v], %[a" i "]\n"
#define TINYRT_TAP                                                                                 \
    "ldrsh %[v], [%[x]], #2\n" TINYRT_CHANNEL("0") TINYRT_CHANNEL("1") TINYRT_CHANNEL("2")         \
        TINYRT_CHANNEL("3")
#define TINYRT_TAP_CODE 36

/* Any number of taps. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_ROW_LOOP TINYRT_TAP
#else
#define TINYRT_ROW_LOOP TINYRT_LOOP_OF(TINYRT_TAP TINYRT_TAP TINYRT_TAP TINYRT_TAP)
#endif

static inline const int32_t *tinyrt_dot_row16(const int32_t *w, const tinyrt_row16 *row,
                                              int32_t sum[4]) {
    const int16_t *x = row->x;
    const int16_t *const end = x + row->taps;
    const int32_t skip = tinyrt_skipped(row->taps, TINYRT_TAP_CODE);
    int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    int32_t t, v;
    (void)skip;
    __asm(".syntax unified\n" TINYRT_ENTER("%[t]") TINYRT_ROW_LOOP "cmp %[x], %[end]\n"
                                                                   "bne 1b\n"
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [w] "+r"(w), [x] "+r"(x),
            [t] "=&r"(t), [v] "=&r"(v)
          : [end] "r"(end)TINYRT_SKIP(skip)
          : "cc", "memory");
    sum[0] = a0, sum[1] = a1, sum[2] = a2, sum[3] = a3;
    return w;
}

#undef TINYRT_CHANNEL
#undef TINYRT_TAP
#undef TINYRT_TAP_CODE
#undef TINYRT_ROW_LOOP

#else

static inline const int32_t *tinyrt_dot_row16(const int32_t *w, const tinyrt_row16 *row,
                                              int32_t sum[4]) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    const int16_t *x = row->x;
    const int8_t *bytes = (const int8_t *)w;
    for (const int16_t *const end = x + row->taps; x != end; ++x, bytes += 4) {
        const int32_t value = *x;
        s0 += value * bytes[0];
        s1 += value * bytes[1];
        s2 += value * bytes[2];
        s3 += value * bytes[3];
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
    return w + row->taps;
}

#endif

#endif
