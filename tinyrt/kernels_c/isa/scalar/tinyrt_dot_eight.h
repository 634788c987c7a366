/** Products of one row of activations with eight output channels, tap by tap. */
#ifndef TINYRT_DOT_EIGHT_H
#define TINYRT_DOT_EIGHT_H

#include "tinyrt_eight_sums.h"
#include "tinyrt_types.h"

#ifdef TINYRT_THUMB_ASSEMBLY

#if __ARM_ARCH_ISA_THUMB == 2

#define TINYRT_CHANNELS(even, odd)                                                                 \
    "ldrsh %[t], [%[w]], #2\n"                                                                     \
    "mla %[a" odd "], %[t], %[v], %[a" odd "]\n"                                                   \
    "sxtb.w %[t], %[t]\n"                                                                          \
    "mla %[a" even "], %[t], %[v], %[a" even "]\n"
#define TINYRT_TAP                                                                                 \
    "ldrsb %[v], [%[x]], #1\n" TINYRT_CHANNELS("0", "1") TINYRT_CHANNELS("2", "3")                 \
        TINYRT_CHANNELS("4", "5") TINYRT_CHANNELS("6", "7")

/* Half as many taps as elsewhere, as each has twice the products; any number of them. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_ROW_LOOP TINYRT_TAP
#else
#define TINYRT_ROW_LOOP TINYRT_LOOP_OF(TINYRT_TAP TINYRT_TAP)
#endif

/** Adds the products of all taps to the sums of eight channels: of the even ones, and 256 times
 *  those of the odd ones plus their neighbour's.
 *  w holds for every tap two words, each with 256 * w1 + w0 in the low half and 256 * w3 + w2 in
 *  the high one. Returns the end of w. */
static inline const int32_t *tinyrt_dot_eight(const int32_t *w, const int8_t *x, int32_t taps,
                                              int32_t *acc) {
    const int8_t *const end = x + taps;
    const int32_t skip = (-taps & ((TINYRT_LOOP_TAPS / 2) - 1)) * 68;
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    int32_t a4 = acc[4], a5 = acc[5], a6 = acc[6], a7 = acc[7];
    int32_t t, v;
    (void)skip;
    __asm(
        ".syntax unified\n" TINYRT_ENTER("%[t]") TINYRT_ROW_LOOP "ldr %[t], %[end]\n"
                                                                 "cmp %[x], %[t]\n"
                                                                 "bne 1b\n"
        : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [a4] "+r"(a4), [a5] "+r"(a5),
          [a6] "+r"(a6), [a7] "+r"(a7), [w] "+r"(w), [x] "+r"(x), [t] "=&r"(t), [v] "=&r"(v)
        : [end] "m"(end)TINYRT_SKIP(skip)
        : "cc", "memory");
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    acc[4] = a4, acc[5] = a5, acc[6] = a6, acc[7] = a7;
    return w;
}

#undef TINYRT_ROW_LOOP
#undef TINYRT_TAP
#undef TINYRT_CHANNELS

#else

#define TINYRT_PRODUCT(take, add) take "muls %[v], %[x0], %[v]\n" add
#define TINYRT_CHANNELS(add_0, add_1, add_2, add_3)                                                \
    "ldmia %[w]!, {%[t]}\n" TINYRT_PRODUCT("sxth %[v], %[t]\n",                                    \
                                           add_1) TINYRT_PRODUCT("sxtb %[v], %[t]\n", add_0)       \
        TINYRT_PRODUCT("asrs %[v], %[t], #16\n", add_3) "lsls %[t], %[t], #8\n" TINYRT_PRODUCT(    \
            "asrs %[v], %[t], #24\n", add_2)
#define TINYRT_TAP                                                                                 \
    "ldrsb %[x0], [%[x], %[zero]]\n"                                                               \
    "adds %[x], #1\n" TINYRT_CHANNELS(TINYRT_ADD_TO("s0"), TINYRT_ADD_TO("s1"),                    \
                                      TINYRT_ADD_TO("s2"), TINYRT_ADD_TO("s3"))                    \
        TINYRT_CHANNELS(TINYRT_ADD_TO("s4"), TINYRT_ADD_TO_S5, TINYRT_ADD_TO("s6"),                \
                        TINYRT_ADD_TO("s7"))
/** The activation of a tap that is loaded already. */
#define TINYRT_RESTORE_BYTE                                                                        \
    "subs %[x], #1\n"                                                                              \
    "ldrsb %[x0], [%[x], %[zero]]\n"                                                               \
    "adds %[x], #1\n"
#define TINYRT_ROW_LOOP                                                                            \
    TINYRT_UNROLLED(                                                                               \
        TINYRT_EIGHT_TURNS("0", "long_end", TINYRT_TAP TINYRT_TAP TINYRT_TAP TINYRT_TAP))          \
    TINYRT_EIGHT_TURNS("1", "end", TINYRT_TAP)

static inline const int32_t *tinyrt_dot_eight(const int32_t *w, const int8_t *x, int32_t taps,
                                              int32_t *acc) {
    const int8_t *const end = x + taps;
    const int8_t *const long_end = x + (taps & ~3);
    TINYRT_EIGHT_SUMS;
    int32_t t, v, x0;
    __asm volatile(TINYRT_EIGHT_LOOP(TINYRT_RESTORE_BYTE, TINYRT_ROW_LOOP)
                   : TINYRT_EIGHT_OPERANDS, [w] "+l"(w), [x] "+l"(x), [t] "=&l"(t), [v] "=&l"(v),
                     [x0] "=&l"(x0)
                   : [zero] "l"(0), [end] "m"(end), [long_end] "m"(long_end), [acc] "m"(acc)
                   : "cc", "memory", "lr");
    return w;
}

#undef TINYRT_ROW_LOOP
#undef TINYRT_TAP
#undef TINYRT_CHANNELS
#undef TINYRT_RESTORE_BYTE
#undef TINYRT_PRODUCT

#endif

#else

static inline const int32_t *tinyrt_dot_eight(const int32_t *w, const int8_t *x, int32_t taps,
                                              int32_t *acc) {
    for (int32_t tap = 0; tap < taps; ++tap, ++x) {
        for (int32_t i = 0; i < 8; i += 4, ++w) {
            acc[i] += (int8_t)*w * *x;
            acc[i + 2] += (int8_t)(*w >> 16) * *x;
            acc[i + 1] = (int32_t)((uint32_t)acc[i + 1] + (uint32_t)((int16_t)*w * *x));
            acc[i + 3] = (int32_t)((uint32_t)acc[i + 3] + (uint32_t)((*w >> 16) * *x));
        }
    }
    return w;
}

#endif

#endif
