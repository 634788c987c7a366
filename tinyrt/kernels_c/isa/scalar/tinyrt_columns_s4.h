/** Products of columns with four output channels whose weights share a 16-bit half, a nibble each.
 *
 *  For halves h = 4096 * w3 + 256 * n2 + 16 * n1 + n0 with n = w + 8, products of a column are
 *  summed with h as it is, with its low byte, with 256 * n2 and with n0. What each channel adds
 *  follows from differences of these sums. */
#ifndef TINYRT_COLUMNS_S4_H
#define TINYRT_COLUMNS_S4_H

#include "tinyrt_columns.h"

/** The sum of a single column. */
static inline int32_t tinyrt_sum_single(const tinyrt_single *x, int32_t taps) {
    int32_t sum = 0;
    for (const tinyrt_single *const end = x + taps; x != end; ++x) {
        sum += *x;
    }
    return sum;
}

/** The sums of two interleaved columns. */
static inline void tinyrt_sum_columns(const tinyrt_taps_word *columns, int32_t taps,
                                      int32_t sum[2]) {
    int32_t first = 0;
    int32_t second = 0;
    for (const tinyrt_taps_word *const end = columns + (2 * taps); columns != end; columns += 2) {
        first += columns[0];
        second += columns[1];
    }
    sum[0] = first;
    sum[1] = second;
}

/** acc + a * b, modulo 2^32. */
static inline int32_t tinyrt_add_wrapped(int32_t acc, int32_t a, int32_t b) {
    return (int32_t)((uint32_t)acc + (uint32_t)(a * b));
}

/** One tap of four channels. */
static inline void tinyrt_dot_tap_s4(int32_t half, int32_t x, int32_t *acc) {
    acc[3] = tinyrt_add_wrapped(acc[3], half, x);
    acc[1] = tinyrt_add_wrapped(acc[1], half & 0xFF, x);
    acc[2] = tinyrt_add_wrapped(acc[2], half & 0xF00, x);
    acc[0] = tinyrt_add_wrapped(acc[0], half & 0xF, x);
}

/** The low half of a word, as a signed number. */
static inline int32_t tinyrt_first_half(int32_t word) {
    return (int16_t)(uint16_t)(uint32_t)word;
}

/** Adds to acc[3] the products with halves, to acc[1] those with their low bytes, to acc[2] 256
 *  times those with the third nibble, to acc[0] those with the first. w holds two taps to a word.
 *  Requires: taps is a multiple of four, and not 0. Returns the end of w. */
static inline const int32_t *tinyrt_dot_one_s4(const int32_t *w, const tinyrt_single *x,
                                               int32_t taps, int32_t *acc) {
    for (const tinyrt_single *const end = x + taps; x != end; x += 2) {
        const int32_t word = *w++;
        tinyrt_dot_tap_s4(tinyrt_first_half(word), x[0], acc);
        tinyrt_dot_tap_s4(word >> 16, x[1], acc);
    }
    return w;
}

#ifdef TINYRT_THUMB_ASSEMBLY

#if __ARM_ARCH_ISA_THUMB == 2

/** A product, added to a sum that may be in memory. */
#define TINYRT_ADD_S4(sum, x) "tinyrt_add mla, \"%[" sum "]\", %[t], %[" x "], %[u]\n"

#define TINYRT_TAP_S4                                                                              \
    "ldrd %[x0], %[x1], [%[x]], #8\n"                                                              \
    "ldrsh %[t], [%[w]], #2\n" TINYRT_ADD_S4("a3", "x0")                                           \
        TINYRT_ADD_S4("b3", "x1") "uxtb.w %[u], %[t]\n"                                            \
                                  "mla %[a1], %[u], %[x0], %[a1]\n"                                \
                                  "mla %[b1], %[u], %[x1], %[b1]\n"                                \
                                  "and %[u], %[t], #0xF\n"                                         \
                                  "mla %[a0], %[u], %[x0], %[a0]\n"                                \
                                  "mla %[b0], %[u], %[x1], %[b0]\n"                                \
                                  "and %[t], %[t], #0xF00\n" TINYRT_ADD_S4("a2", "x0")             \
                                      TINYRT_ADD_S4("b2", "x1")
#define TINYRT_FOUR_TAPS_S4 TINYRT_TAP_S4 TINYRT_TAP_S4 TINYRT_TAP_S4 TINYRT_TAP_S4
#define TINYRT_ROW_TAP_S4                                                                          \
    "ldrsb %[x0], [%[x]], #1\n"                                                                    \
    "ldrsh %[t], [%[w]], #2\n"                                                                     \
    "mla %[a3], %[t], %[x0], %[a3]\n"                                                              \
    "uxtb %[v], %[t]\n"                                                                            \
    "mla %[a1], %[v], %[x0], %[a1]\n"                                                              \
    "and %[v], %[t], #0xF00\n"                                                                     \
    "mla %[a2], %[v], %[x0], %[a2]\n"                                                              \
    "and %[t], %[t], #0xF\n"                                                                       \
    "mla %[a0], %[t], %[x0], %[a0]\n"
#define TINYRT_ROW_THIRD_SHIFT 0

/** As tinyrt_dot_one_s4 for two interleaved columns; the second one's sums are in acc[4] to acc[7].
 *  In assembly because it takes every register that there is. */
static inline const int32_t *tinyrt_dot_two_s4(const int32_t *w, const tinyrt_taps_word *columns,
                                               int32_t taps, int32_t *acc) {
    const tinyrt_taps_word *const end = columns + 2 * taps;
    const int32_t skip = tinyrt_skipped(taps, 52);
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    int32_t b0 = acc[4], b1 = acc[5], b2 = acc[6], b3 = acc[7];
    int32_t t, u, x0, x1;
    (void)skip;
    TINYRT_OPAQUE(a2, a3);
    TINYRT_OPAQUE(b2, b3);
    __asm(TINYRT_FLEXIBLE_LOOP("%[a2]%[a3]%[b2]%[b3]", "%[t]", TINYRT_FOUR_TAPS_S4)
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+rm"(a2), [a3] "+rm"(a3), [b0] "+r"(b0),
            [b1] "+r"(b1), [b2] "+rm"(b2), [b3] "+rm"(b3), [w] "+r"(w), [x] "+r"(columns),
            [t] "=&r"(t), [u] "=&r"(u), [x0] "=&r"(x0), [x1] "=&r"(x1)
          : [end] "m"(end)TINYRT_SKIP(skip)
          : "cc", "memory");
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    acc[4] = b0, acc[5] = b1, acc[6] = b2, acc[7] = b3;
    return w;
}

#undef TINYRT_FOUR_TAPS_S4
#undef TINYRT_TAP_S4

#else

#define TINYRT_TAP_S4(half)                                                                        \
    "ldmia %[x]!, {%[x0]}\n"                                                                       \
    "ldmia %[x]!, {%[x1]}\n"                                                                       \
    "ldrh %[t], [%[w], #" half                                                                     \
    "]\n" TINYRT_PRODUCT_TWO("sxth %[v], %[t]\n", TINYRT_ADD_TO("s3"), TINYRT_ADD_TO("s7"))        \
        TINYRT_PRODUCT_TWO("uxtb %[v], %[t]\n", TINYRT_ADD_TO("s1"), TINYRT_ADD_TO_S5)             \
            TINYRT_PRODUCT_TWO("lsls %[v], %[t], #20\nlsrs %[v], %[v], #28\n",                     \
                               TINYRT_ADD_TO("s2"), TINYRT_ADD_TO("s6"))                           \
                TINYRT_PRODUCT_TWO("lsls %[v], %[t], #28\nlsrs %[v], %[v], #28\n",                 \
                                   TINYRT_ADD_TO("s0"), TINYRT_ADD_TO("s4"))
#define TINYRT_TWO_TAPS_S4                                                                         \
    TINYRT_TAP_S4("0")                                                                             \
    TINYRT_TAP_S4("2")                                                                             \
    "adds %[w], #4\n"

static inline const int32_t *tinyrt_dot_two_s4(const int32_t *w, const tinyrt_taps_word *columns,
                                               int32_t taps, int32_t *acc) {
    const tinyrt_taps_word *const end = columns + (2 * taps);
    /* Third nibbles are summed as they are, not times 256. */
    acc[2] >>= 8, acc[6] >>= 8;
    TINYRT_EIGHT_SUMS;
    TINYRT_DECLARE_TEMPORARIES;
    __asm volatile(
        TINYRT_EIGHT_LOOP(TINYRT_RESTORE_X0, TINYRT_EIGHT_TURNS("0", "end", TINYRT_TWO_TAPS_S4))
        : TINYRT_EIGHT_OPERANDS, [w] "+l"(w), [x] "+l"(columns), TINYRT_TEMPORARIES
        : [end] "m"(end), [acc] "m"(acc)
        : "cc", "memory", "lr");
    acc[2] = (int32_t)((uint32_t)acc[2] << 8);
    acc[6] = (int32_t)((uint32_t)acc[6] << 8);
    return w;
}

#undef TINYRT_TWO_TAPS_S4
#undef TINYRT_TAP_S4

#define TINYRT_PRODUCT_ROW(take, sum)                                                              \
    take "muls %[v], %[x0], %[v]\n"                                                                \
         "add " sum ", %[v]\n"
#define TINYRT_ROW_TAP_S4                                                                          \
    "ldrb %[x0], [%[x]]\n"                                                                         \
    "sxtb %[x0], %[x0]\n"                                                                          \
    "adds %[x], #1\n"                                                                              \
    "ldrh %[t], [%[w]]\n"                                                                          \
    "adds %[w], #2\n" TINYRT_PRODUCT_ROW("sxth %[v], %[t]\n", "%[a3]")                             \
        TINYRT_PRODUCT_ROW("uxtb %[v], %[t]\n", "%[a1]")                                           \
            TINYRT_PRODUCT_ROW("lsls %[v], %[t], #20\nlsrs %[v], %[v], #28\n", "%[a2]")            \
                TINYRT_PRODUCT_ROW("lsls %[v], %[t], #28\nlsrs %[v], %[v], #28\n", "%[a0]")
#define TINYRT_ROW_THIRD_SHIFT 8

#endif

/** As tinyrt_dot_one_s4 over activations where they lie; any number of taps but 0. */
static inline void tinyrt_dot_row_s4(const int32_t *w, const int8_t *x, int32_t taps,
                                     int32_t *acc) {
    const int8_t *const end = x + taps;
    const int8_t *const long_end = x + (taps & ~3);
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2] >> TINYRT_ROW_THIRD_SHIFT, a3 = acc[3];
    int32_t t, v, x0;
    __asm(TINYRT_UNROLLED(TINYRT_LOOP(
        "0", "long_end", TINYRT_ROW_TAP_S4 TINYRT_ROW_TAP_S4 TINYRT_ROW_TAP_S4 TINYRT_ROW_TAP_S4))
              TINYRT_LOOP("1", "end", TINYRT_ROW_TAP_S4)
          : [a0] TINYRT_SUM(a0), [a1] TINYRT_SUM(a1), [a2] TINYRT_SUM(a2), [a3] TINYRT_SUM(a3),
            [w] "+l"(w), [x] "+l"(x), [t] "=&l"(t), [v] "=&l"(v), [x0] "=&l"(x0)
          : [end] "m"(end), [long_end] "m"(long_end)
          : "cc", "memory");
    acc[0] = a0, acc[1] = a1, acc[3] = a3;
    acc[2] = (int32_t)((uint32_t)a2 << TINYRT_ROW_THIRD_SHIFT);
}

#undef TINYRT_ROW_TAP_S4
#undef TINYRT_ROW_THIRD_SHIFT

#else

static inline void tinyrt_dot_row_s4(const int32_t *w, const int8_t *x, int32_t taps,
                                     int32_t *acc) {
    for (int32_t i = 0; i < taps; ++i) {
        const int32_t word = w[i >> 1];
        tinyrt_dot_tap_s4(i & 1 ? word >> 16 : tinyrt_first_half(word), x[i], acc);
    }
}

static inline const int32_t *tinyrt_dot_two_s4(const int32_t *w, const tinyrt_taps_word *columns,
                                               int32_t taps, int32_t *acc) {
    for (const tinyrt_taps_word *const end = columns + 2 * taps; columns != end; columns += 4) {
        const int32_t word = *w++;
        tinyrt_dot_tap_s4(tinyrt_first_half(word), columns[0], acc);
        tinyrt_dot_tap_s4(tinyrt_first_half(word), columns[1], acc + 4);
        tinyrt_dot_tap_s4(word >> 16, columns[2], acc);
        tinyrt_dot_tap_s4(word >> 16, columns[3], acc + 4);
    }
    return w;
}

#endif

#endif
