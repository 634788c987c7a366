/** Products of one row of activations with eight output channels, tap by tap. */
#ifndef TINYRT_DOT_EIGHT_H
#define TINYRT_DOT_EIGHT_H

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
    const int32_t skip = (-taps & (TINYRT_LOOP_TAPS / 2 - 1)) * 68;
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

#define TINYRT_PRODUCT(take, sum)                                                                  \
    take "muls %[v], %[x0], %[v]\n"                                                                \
         "add " sum ", %[v]\n"
#define TINYRT_CHANNELS(a0, a1, a2, a3)                                                            \
    "ldmia %[w]!, {%[t]}\n" TINYRT_PRODUCT("sxth %[v], %[t]\n", a1)                                \
        TINYRT_PRODUCT("sxtb %[v], %[t]\n", a0)                                                    \
            TINYRT_PRODUCT("asrs %[v], %[t], #16\n", a3) "lsls %[t], %[t], #8\n" TINYRT_PRODUCT(   \
                "asrs %[v], %[t], #24\n", a2)
#define TINYRT_TAP                                                                                 \
    "ldrsb %[x0], [%[x], %[zero]]\n"                                                               \
    "adds %[x], #1\n" TINYRT_CHANNELS("r8", "r9", "r10", "r11")                                    \
        TINYRT_CHANNELS("r12", "lr", "%[a6]", "%[a7]")
#define TINYRT_MOVE_SUM(move, reg, index) move(reg, "[%[t], #" index " * 4]")
#define TINYRT_LOAD(reg, place) "ldr %[v], " place "\nmov " reg ", %[v]\n"
#define TINYRT_STORE(reg, place) "mov %[v], " reg "\nstr %[v], " place "\n"
#define TINYRT_MOVE_SUMS(move)                                                                     \
    TINYRT_MOVE_SUM(move, "r8", "0")                                                               \
    TINYRT_MOVE_SUM(move, "r9", "1")                                                               \
    TINYRT_MOVE_SUM(move, "r10", "2")                                                              \
    TINYRT_MOVE_SUM(move, "r11", "3")                                                              \
    TINYRT_MOVE_SUM(move, "r12", "4")                                                              \
    TINYRT_MOVE_SUM(move, "lr", "5")

static inline const int32_t *tinyrt_dot_eight(const int32_t *w, const int8_t *x, int32_t taps,
                                              int32_t *acc) {
    const int8_t *const end = x + taps;
    const int8_t *const long_end = x + (taps & ~3);
    int32_t a6 = acc[6], a7 = acc[7];
    int32_t t, v, x0;
    __asm(".syntax unified\n"
          "ldr %[t], %[acc]\n" TINYRT_MOVE_SUMS(TINYRT_LOAD)
              TINYRT_UNROLLED("b 2f\n"
                              "1:\n" TINYRT_TAP TINYRT_TAP TINYRT_TAP TINYRT_TAP "2:\n"
                              "ldr %[t], %[long_end]\n"
                              "cmp %[x], %[t]\n"
                              "bne 1b\n") "b 4f\n"
                                          "3:\n" TINYRT_TAP "4:\n"
                                          "ldr %[t], %[end]\n"
                                          "cmp %[x], %[t]\n"
                                          "bne 3b\n"
                                          "ldr %[t], %[acc]\n" TINYRT_MOVE_SUMS(TINYRT_STORE)
          : [a6] "+l"(a6), [a7] "+l"(a7), [w] "+l"(w), [x] "+l"(x), [t] "=&l"(t), [v] "=&l"(v),
            [x0] "=&l"(x0)
          : [zero] "l"(0), [end] "m"(end), [long_end] "m"(long_end), [acc] "m"(acc)
          : "cc", "memory", "r8", "r9", "r10", "r11", "r12", "lr");
    acc[6] = a6, acc[7] = a7;
    return w;
}

#undef TINYRT_MOVE_SUMS
#undef TINYRT_STORE
#undef TINYRT_LOAD
#undef TINYRT_MOVE_SUM
#undef TINYRT_TAP
#undef TINYRT_CHANNELS
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
