/** Columns of activations, and their products with four output channels, two taps at a time.
 *
 *  A column holds the activations that one output position reads, as 16-bit numbers: of every four
 *  bytes first the even ones, then the odd ones, so that one instruction widens two. Two columns
 *  are interleaved by pairs; a single one stays as it is, in bytes. */
#ifndef TINYRT_COLUMNS_H
#define TINYRT_COLUMNS_H

#include "tinyrt_copy.h"
#include "tinyrt_flexible.h"
#include "tinyrt_simd.h"

/** Two taps of one column. */
typedef uint32_t tinyrt_taps_word;

/** Taps that one such word holds. */
#define TINYRT_TAPS_PER_WORD 2

/** What the counts of tinyrt_widen must be multiples of. */
#define TINYRT_WIDEN_MULTIPLE 4

/** An activation of a single column. */
typedef int8_t tinyrt_single;

/** Bytes of a single column for each tap. */
#define TINYRT_SINGLE_BYTES 1

/** Whether outputs of a column that share one scale have code of their own. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_ONE_SCALE 0
#else
#define TINYRT_ONE_SCALE 1
#endif

/** Writes four bytes to one of two columns. */
static inline void tinyrt_widen_four(const int8_t *x, tinyrt_taps_word *column) {
    const uint32_t word = tinyrt_load_word(x);
    column[0] = tinyrt_even_bytes(word);
    column[2] = tinyrt_odd_bytes(word);
}

/** Writes count bytes, a multiple of four, to one of two columns. Returns where it goes on. */
static inline tinyrt_taps_word *tinyrt_widen(const int8_t *x, int32_t count,
                                             tinyrt_taps_word *column) {
    const int8_t *const end = x + count;
#ifdef TINYRT_FAST
    for (const int8_t *const whole = x + (count & ~15); x != whole; x += 16, column += 16) {
        tinyrt_widen_four(x, column);
        tinyrt_widen_four(x + 4, column + 4);
        tinyrt_widen_four(x + 8, column + 8);
        tinyrt_widen_four(x + 12, column + 12);
    }
#endif
    for (; x != end; x += 4, column += 4) {
        tinyrt_widen_four(x, column);
    }
    return column;
}

/** Words may be loaded from anywhere, and code need not be small. */
#ifndef __OPTIMIZE_SIZE__
#define TINYRT_ANY_WORD
#endif

/** What of two columns a product runs over, set out once for many: their end, and how much of the
 *  loop's code is skipped when it is entered. */
typedef struct {
    const tinyrt_taps_word *end;
    int32_t skip;
} tinyrt_span;

/** Nothing: columns made of whole words need no padding. */
static inline void tinyrt_pad_column(int32_t taps, tinyrt_taps_word *column) {
    (void)taps;
    (void)column;
}

/** As tinyrt_widen for any count; the column is padded with zeros to a multiple of four taps. */
static inline void tinyrt_widen_all(const int8_t *x, int32_t count, tinyrt_taps_word *column) {
    const int32_t whole = count & ~3;
    column = tinyrt_widen(x, whole, column);
    if (whole != count) {
        int8_t last[4] = {0};
        for (int32_t i = 0; i < (count - whole); ++i) {
            TINYRT_SHORT_LOOP;
            last[i] = x[whole + i];
        }
        (void)tinyrt_widen(last, 4, column);
    }
}

/** Writes four bytes of each of two rows to both columns; other is how far apart the rows lie. */
static inline void tinyrt_widen_four_of_two(const int8_t *x, int32_t other,
                                            tinyrt_taps_word *columns) {
    const uint32_t first = tinyrt_load_word(x);
    const uint32_t second = tinyrt_load_word(x + other);
    columns[0] = tinyrt_even_bytes(first);
    columns[1] = tinyrt_even_bytes(second);
    columns[2] = tinyrt_odd_bytes(first);
    columns[3] = tinyrt_odd_bytes(second);
}

/** As tinyrt_widen_all of two rows, one behind the other, to both columns. */
static inline void tinyrt_widen_two(const int8_t *x, int32_t count, tinyrt_taps_word *columns) {
#ifdef __OPTIMIZE_SIZE__
    tinyrt_widen_all(x, count, columns);
    tinyrt_widen_all(x + count, count, columns + 1);
#else
    const int32_t whole = count & ~3;
    const int8_t *const end = x + whole;
    const int8_t *from = x;
    tinyrt_taps_word *to = columns;
#ifdef TINYRT_FAST
    for (const int8_t *const most = x + (count & ~15); from != most; from += 16, to += 16) {
        tinyrt_widen_four_of_two(from, count, to);
        tinyrt_widen_four_of_two(from + 4, count, to + 4);
        tinyrt_widen_four_of_two(from + 8, count, to + 8);
        tinyrt_widen_four_of_two(from + 12, count, to + 12);
    }
#endif
    for (; from != end; from += 4, to += 4) {
        tinyrt_widen_four_of_two(from, count, to);
    }
    for (int32_t row = 0; (whole != count) && (row < 2); ++row) {
        tinyrt_widen_all(x + whole + (row * count), count - whole, columns + whole + row);
    }
#endif
}

/** Copies count bytes to a single column, and zeros up to a multiple of four. */
static inline const tinyrt_single *tinyrt_set_single(const int8_t *x, int32_t count,
                                                     tinyrt_taps_word *columns) {
    int8_t *const single = (int8_t *)columns;
    tinyrt_fill(0, single + ((count + 3) & ~3), tinyrt_copy(x, single + count, single));
    return single;
}

/** As tinyrt_set_single, of words' bytes that stay where they are: what is behind count meets
 * weights of zero. */
static inline const tinyrt_single *tinyrt_as_single(const int8_t *x, int32_t count,
                                                    tinyrt_taps_word *columns) {
    (void)count;
    (void)columns;
    return x;
}

/** Two taps of one column, two words of weights. */
static inline void tinyrt_dot_taps(const int32_t *w, uint32_t x, int32_t *sum) {
    const uint32_t low = (uint32_t)w[0];
    const uint32_t high = (uint32_t)w[1];
    sum[1] = tinyrt_dot_pair(low, x, sum[1]);
    sum[0] = tinyrt_dot_pair(tinyrt_even_bytes(low), x, sum[0]);
    sum[3] = tinyrt_dot_pair(high, x, sum[3]);
    sum[2] = tinyrt_dot_pair(tinyrt_even_bytes(high), x, sum[2]);
}

#if defined(__ARM_FEATURE_DSP) && TINYRT_ASM_LOOPS

/** Products of pairs, added to a sum that may be in memory: t is free. clang has no sums in memory,
 * but no operand for the second word of weights. */
#ifdef __clang__
#define TINYRT_SECOND_WORD "free"
#define TINYRT_ADD_PAIRS(sum, w, x, t) "smlad %[" sum "], " w ", %[" x "], %[" sum "]\n"
#else
#define TINYRT_SECOND_WORD "%[w1]"
#define TINYRT_ADD_PAIRS(sum, w, x, t) "tinyrt_add smlad, \"%[" sum "]\", " w ", %[" x "], " t "\n"
#endif

/** Four bytes at any address: the even ones in x0, the odd ones in x1. */
#ifdef __ARM_FEATURE_UNALIGNED
#define TINYRT_LOAD_FOUR                                                                           \
    "ldr %[x0], [%[x]], #4\n"                                                                      \
    "sxtb16 %[x1], %[x0], ror #8\n"                                                                \
    "sxtb16 %[x0], %[x0]\n"
#define TINYRT_LOAD_FOUR_CODE 12
#else
#define TINYRT_LOAD_FOUR                                                                           \
    "ldrsb %[x0], [%[x]], #1\n"                                                                    \
    "ldrsb %[x1], [%[x]], #1\n"                                                                    \
    "ldrsb %[w0], [%[x]], #1\n"                                                                    \
    "ldrsb %[w1], [%[x]], #1\n"                                                                    \
    "pkhbt %[x0], %[x0], %[w0], lsl #16\n"                                                         \
    "pkhbt %[x1], %[x1], %[w1], lsl #16\n"
#define TINYRT_LOAD_FOUR_CODE 24
#endif

#define TINYRT_TWO_TAPS                                                                            \
    "ldrd %[x0], %[x1], [%[x]], #8\n"                                                              \
    "ldrd %[w0], " TINYRT_SECOND_WORD ", [%[w]], #8\n"                                             \
    "smlad %[a1], %[w0], %[x0], %[a1]\n"                                                           \
    "smlad %[b1], %[w0], %[x1], %[b1]\n"                                                           \
    "sxtb16 %[w0], %[w0]\n"                                                                        \
    "smlad %[a0], %[w0], %[x0], %[a0]\n"                                                           \
    "smlad %[b0], %[w0], %[x1], %[b0]\n" TINYRT_ADD_PAIRS("a3", TINYRT_SECOND_WORD, "x0", "%[w0]") \
        TINYRT_ADD_PAIRS("b3", TINYRT_SECOND_WORD, "x1",                                           \
                         "%[w0]") "sxtb16 " TINYRT_SECOND_WORD ", " TINYRT_SECOND_WORD             \
                                  "\n" TINYRT_ADD_PAIRS("a2", TINYRT_SECOND_WORD, "x0", "%[w0]")   \
                                      TINYRT_ADD_PAIRS("b2", TINYRT_SECOND_WORD, "x1", "%[w0]")
#define TINYRT_TWO_TAPS_CODE 48

#define TINYRT_PRODUCTS_HELD(even, odd)                                                            \
    "ldr %[w0], [%[w]], #4\n"                                                                      \
    "smlad %[a" odd "], %[w0], %[x0], %[a" odd "]\n"                                               \
    "smlad %[b" odd "], %[w0], %[x1], %[b" odd "]\n"                                               \
    "sxtb16 %[w0], %[w0]\n"                                                                        \
    "smlad %[a" even "], %[w0], %[x0], %[a" even "]\n"                                             \
    "smlad %[b" even "], %[w0], %[x1], %[b" even "]\n"
#define TINYRT_TWO_TAPS_HELD                                                                       \
    "ldrd %[x0], %[x1], [%[x]], #8\n" TINYRT_PRODUCTS_HELD("0", "1") TINYRT_PRODUCTS_HELD("2", "3")

#define TINYRT_FOUR_CHANNELS(x)                                                                    \
    "ldrd %[w0], %[w1], [%[w]], #8\n"                                                              \
    "smlad %[a1], %[w0], %[" x "], %[a1]\n"                                                        \
    "sxtb16 %[w0], %[w0]\n"                                                                        \
    "smlad %[a0], %[w0], %[" x "], %[a0]\n"                                                        \
    "smlad %[a3], %[w1], %[" x "], %[a3]\n"                                                        \
    "sxtb16 %[w1], %[w1]\n"                                                                        \
    "smlad %[a2], %[w1], %[" x "], %[a2]\n"
#define TINYRT_FOUR_BYTES TINYRT_LOAD_FOUR TINYRT_FOUR_CHANNELS("x0") TINYRT_FOUR_CHANNELS("x1")

#define TINYRT_FOUR_BYTES_CODE (TINYRT_LOAD_FOUR_CODE + 56)

/** Sums of four channels over one column: those of channels 0 and 2 in acc[0] and acc[2], and with
 *  256 times those of channels 1 and 3 in acc[1] and acc[3].
 *  w holds for every two taps two words: pairs of 256 * w1 + w0, and of 256 * w3 + w2.
 *  Requires: taps is a multiple of four, and not 0. Returns the end of w. */
#define TINYRT_DOT_ONE tinyrt_dot_one

/** As tinyrt_dot_one for two interleaved columns; the second one's sums are in acc[4] to acc[7]. */
#define TINYRT_DOT_TWO tinyrt_dot_two
#define TINYRT_DOT_SPAN tinyrt_dot_span

enum { TINYRT_SPAN_CODE = TINYRT_TWO_TAPS_CODE };

#include "tinyrt_dot_loop.h"

#undef TINYRT_FOUR_CHANNELS

#include "tinyrt_dot_words.h"

static inline tinyrt_span tinyrt_span_of(const tinyrt_taps_word *columns, int32_t taps) {
    const tinyrt_span span = {columns + taps, tinyrt_skipped(taps, TINYRT_SPAN_CODE / 2)};
    return span;
}

#else

/* Sums are in variables of their own, which compilers keep in registers. */

static inline const int32_t *tinyrt_dot_one(const int32_t *TINYRT_RESTRICT w,
                                            const tinyrt_single *TINYRT_RESTRICT x, int32_t taps,
                                            int32_t *TINYRT_RESTRICT acc) {
    int32_t sum[4] = {acc[0], acc[1], acc[2], acc[3]};
    for (const tinyrt_single *const end = x + taps; x != end; x += 4, w += 4) {
        const uint32_t word = tinyrt_load_word(x);
        tinyrt_dot_taps(w, tinyrt_even_bytes(word), sum);
        tinyrt_dot_taps(w + 2, tinyrt_odd_bytes(word), sum);
    }
    acc[0] = sum[0], acc[1] = sum[1], acc[2] = sum[2], acc[3] = sum[3];
    return w;
}

/** Two taps of two columns. */
static inline void tinyrt_dot_both(const int32_t *w, const tinyrt_taps_word *x, int32_t *sum) {
    const uint32_t x0 = x[0];
    const uint32_t x1 = x[1];
    const uint32_t low = (uint32_t)w[0];
    sum[1] = tinyrt_dot_pair(low, x0, sum[1]);
    sum[5] = tinyrt_dot_pair(low, x1, sum[5]);
    const uint32_t low_even = tinyrt_even_bytes(low);
    sum[0] = tinyrt_dot_pair(low_even, x0, sum[0]);
    sum[4] = tinyrt_dot_pair(low_even, x1, sum[4]);
    const uint32_t high = (uint32_t)w[1];
    sum[3] = tinyrt_dot_pair(high, x0, sum[3]);
    sum[7] = tinyrt_dot_pair(high, x1, sum[7]);
    const uint32_t high_even = tinyrt_even_bytes(high);
    sum[2] = tinyrt_dot_pair(high_even, x0, sum[2]);
    sum[6] = tinyrt_dot_pair(high_even, x1, sum[6]);
}

/** Four taps of them. */
static inline void tinyrt_dot_four(const int32_t *w, const tinyrt_taps_word *x, int32_t *sum) {
    tinyrt_dot_both(w, x, sum);
    tinyrt_dot_both(w + 2, x + 2, sum);
}

static inline const int32_t *tinyrt_dot_two(const int32_t *TINYRT_RESTRICT w,
                                            const tinyrt_taps_word *TINYRT_RESTRICT columns,
                                            int32_t taps, int32_t *TINYRT_RESTRICT acc) {
    int32_t sum[8] = {acc[0], acc[1], acc[2], acc[3], acc[4], acc[5], acc[6], acc[7]};
    const tinyrt_taps_word *const end = columns + taps;
#ifndef __OPTIMIZE_SIZE__
    for (const tinyrt_taps_word *const whole = columns + (taps & ~15); columns != whole;) {
        tinyrt_dot_four(w, columns, sum);
        tinyrt_dot_four(w + 4, columns + 4, sum);
        tinyrt_dot_four(w + 8, columns + 8, sum);
        tinyrt_dot_four(w + 12, columns + 12, sum);
        columns += 16;
        w += 16;
    }
#endif
    for (; columns != end; columns += 4, w += 4) {
        tinyrt_dot_four(w, columns, sum);
    }
    acc[0] = sum[0], acc[1] = sum[1], acc[2] = sum[2], acc[3] = sum[3];
    acc[4] = sum[4], acc[5] = sum[5], acc[6] = sum[6], acc[7] = sum[7];
    return w;
}

static inline tinyrt_span tinyrt_span_of(const tinyrt_taps_word *columns, int32_t taps) {
    const tinyrt_span span = {columns + taps, 0};
    return span;
}

static inline const int32_t *tinyrt_dot_span(const int32_t *TINYRT_RESTRICT w,
                                             const tinyrt_taps_word *TINYRT_RESTRICT columns,
                                             const tinyrt_span *span,
                                             int32_t *TINYRT_RESTRICT acc) {
    return tinyrt_dot_two(w, columns, (int32_t)(span->end - columns), acc);
}

#include "tinyrt_tap_line.h"

#endif

#endif
