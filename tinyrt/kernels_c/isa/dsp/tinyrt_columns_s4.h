/** Products of columns with four output channels whose weights share a 16-bit half, a nibble each.
 *
 *  For halves h = 4096 * w3 + 256 * n2 + 16 * n1 + n0 with n = w + 8, products of a column are
 * summed with h as it is, with its low byte, with 256 * n2 and with n0: one extraction each for the
 * last three. What each channel adds follows from differences of these sums. */
#ifndef TINYRT_COLUMNS_S4_H
#define TINYRT_COLUMNS_S4_H

#include "tinyrt_columns.h"

#define TINYRT_ONES 0x00010001U

/** The sum of a single column. */
static inline int32_t tinyrt_sum_single(const tinyrt_single *x, int32_t taps) {
    int32_t sum = 0;
    for (const tinyrt_single *const end = x + taps; x != end; x += 4) {
        const uint32_t word = tinyrt_load_word(x);
        sum = tinyrt_dot_pair(tinyrt_even_bytes(word), TINYRT_ONES, sum);
        sum = tinyrt_dot_pair(tinyrt_odd_bytes(word), TINYRT_ONES, sum);
    }
    return sum;
}

/** The sums of two interleaved columns. */
static inline void tinyrt_sum_columns(const tinyrt_taps_word *columns, int32_t taps,
                                      int32_t sum[2]) {
    int32_t first = 0;
    int32_t second = 0;
    for (const tinyrt_taps_word *const end = columns + taps; columns != end; columns += 4) {
        first = tinyrt_dot_pair(columns[0], TINYRT_ONES, first);
        second = tinyrt_dot_pair(columns[1], TINYRT_ONES, second);
        first = tinyrt_dot_pair(columns[2], TINYRT_ONES, first);
        second = tinyrt_dot_pair(columns[3], TINYRT_ONES, second);
    }
    sum[0] = first;
    sum[1] = second;
}

/** Two taps of four channels, as tinyrt_dot_one_s4 adds them. */
static inline void tinyrt_dot_taps_s4(uint32_t w, uint32_t x, int32_t *sum) {
    const uint32_t low = w & 0x00FF00FFU;
    sum[3] = tinyrt_dot_pair(w, x, sum[3]);
    sum[1] = tinyrt_dot_pair(low, x, sum[1]);
    sum[2] = tinyrt_dot_pair(w & 0x0F000F00U, x, sum[2]);
    sum[0] = tinyrt_dot_pair(low & 0x000F000FU, x, sum[0]);
}

#if defined(__ARM_FEATURE_DSP) && TINYRT_ASM_LOOPS

#define TINYRT_TWO_TAPS                                                                            \
    "ldrd %[x0], %[x1], [%[x]], #8\n"                                                              \
    "ldr %[w0], [%[w]], #4\n" TINYRT_ADD_PAIRS("a3", "%[w0]", "x0", TINYRT_SECOND_WORD)            \
        TINYRT_ADD_PAIRS("b3", "%[w0]", "x1",                                                      \
                         TINYRT_SECOND_WORD) "uxtb16 " TINYRT_SECOND_WORD ", %[w0]\n"              \
                                             "smlad %[a1], " TINYRT_SECOND_WORD ", %[x0], %[a1]\n" \
                                             "smlad %[b1], " TINYRT_SECOND_WORD ", %[x1], %[b1]\n" \
                                             "and " TINYRT_SECOND_WORD ", %[w0], #0x000F000F\n"    \
                                             "smlad %[a0], " TINYRT_SECOND_WORD ", %[x0], %[a0]\n" \
                                             "smlad %[b0], " TINYRT_SECOND_WORD ", %[x1], %[b0]\n" \
                                             "and %[w0], %[w0], #0x0F000F00\n" TINYRT_ADD_PAIRS(   \
                                                 "a2", "%[w0]", "x0", TINYRT_SECOND_WORD)          \
                                                 TINYRT_ADD_PAIRS("b2", "%[w0]", "x1",             \
                                                                  TINYRT_SECOND_WORD)
#define TINYRT_TWO_TAPS_CODE 52

#define TINYRT_PRODUCTS_HELD_S4(channel)                                                           \
    "smlad %[a" channel "], %[w0], %[x0], %[a" channel "]\n"                                       \
    "smlad %[b" channel "], %[w0], %[x1], %[b" channel "]\n"
#define TINYRT_TWO_TAPS_HELD                                                                       \
    "ldrd %[x0], %[x1], [%[x]], #8\n"                                                              \
    "ldr %[w0], [%[w]]\n" TINYRT_PRODUCTS_HELD_S4(                                                 \
        "3") "uxtb16 %[w0], "                                                                      \
             "%[w0]\n" TINYRT_PRODUCTS_HELD_S4(                                                    \
                 "1") "and %[w0], %[w0], "                                                         \
                      "#0x000F000F"                                                                \
                      "\n" TINYRT_PRODUCTS_HELD_S4(                                                \
                          "0") "ldr %[w0], [%[w]], #4\n"                                           \
                               "and %[w0], %[w0], #0x0F000F00\n" TINYRT_PRODUCTS_HELD_S4("2")

#define TINYRT_FOUR_CHANNELS(x)                                                                    \
    "ldr %[w0], [%[w]], #4\n"                                                                      \
    "smlad %[a3], %[w0], %[" x "], %[a3]\n"                                                        \
    "uxtb16 %[w1], %[w0]\n"                                                                        \
    "smlad %[a1], %[w1], %[" x "], %[a1]\n"                                                        \
    "and %[w1], %[w0], #0x0F000F00\n"                                                              \
    "smlad %[a2], %[w1], %[" x "], %[a2]\n"                                                        \
    "and %[w0], %[w0], #0x000F000F\n"                                                              \
    "smlad %[a0], %[w0], %[" x "], %[a0]\n"
#define TINYRT_FOUR_BYTES TINYRT_LOAD_FOUR TINYRT_FOUR_CHANNELS("x0") TINYRT_FOUR_CHANNELS("x1")

#define TINYRT_FOUR_BYTES_CODE (TINYRT_LOAD_FOUR_CODE + 64)

/** Adds to acc[3] the products with halves, to acc[1] those with their low bytes, to acc[2] 256
 *  times those with the third nibble, to acc[0] those with the first.
 *  Requires: taps is a multiple of four, and not 0. Returns the end of w. */
#define TINYRT_DOT_ONE tinyrt_dot_one_s4

/** As tinyrt_dot_one_s4 for two interleaved columns; the second one's sums are behind those. */
#define TINYRT_DOT_TWO tinyrt_dot_two_s4
#define TINYRT_DOT_SPAN tinyrt_dot_span_s4

#include "tinyrt_dot_loop.h"

#undef TINYRT_FOUR_CHANNELS

#else

static inline const int32_t *tinyrt_dot_one_s4(const int32_t *TINYRT_RESTRICT w,
                                               const tinyrt_single *TINYRT_RESTRICT x, int32_t taps,
                                               int32_t *TINYRT_RESTRICT acc) {
    int32_t sum[4] = {acc[0], acc[1], acc[2], acc[3]};
    for (const tinyrt_single *const end = x + taps; x != end; x += 4, w += 2) {
        const uint32_t word = tinyrt_load_word(x);
        tinyrt_dot_taps_s4((uint32_t)w[0], tinyrt_even_bytes(word), sum);
        tinyrt_dot_taps_s4((uint32_t)w[1], tinyrt_odd_bytes(word), sum);
    }
    acc[0] = sum[0], acc[1] = sum[1], acc[2] = sum[2], acc[3] = sum[3];
    return w;
}

static inline const int32_t *tinyrt_dot_two_s4(const int32_t *TINYRT_RESTRICT w,
                                               const tinyrt_taps_word *TINYRT_RESTRICT columns,
                                               int32_t taps, int32_t *TINYRT_RESTRICT acc) {
    int32_t sum[8] = {acc[0], acc[1], acc[2], acc[3], acc[4], acc[5], acc[6], acc[7]};
    for (const tinyrt_taps_word *const end = columns + taps; columns != end; columns += 2, ++w) {
        tinyrt_dot_taps_s4((uint32_t)*w, columns[0], sum);
        tinyrt_dot_taps_s4((uint32_t)*w, columns[1], sum + 4);
    }
    acc[0] = sum[0], acc[1] = sum[1], acc[2] = sum[2], acc[3] = sum[3];
    acc[4] = sum[4], acc[5] = sum[5], acc[6] = sum[6], acc[7] = sum[7];
    return w;
}

#endif

#endif
