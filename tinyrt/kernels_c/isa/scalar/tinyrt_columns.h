/** Columns of activations, and their products with four output channels, tap by tap.
 *
 *  A column holds the activations that one output position reads, as 32-bit numbers. Two columns
 *  are interleaved. */
#ifndef TINYRT_COLUMNS_H
#define TINYRT_COLUMNS_H

#include "tinyrt_eight_sums.h"
#include "tinyrt_hold.h"
#include "tinyrt_types.h"

#include <string.h>

/** One tap of one column. */
typedef int32_t tinyrt_taps_word;

/** Taps that one such word holds. */
#define TINYRT_TAPS_PER_WORD 1

/** What the counts of tinyrt_widen must be multiples of. */
#define TINYRT_WIDEN_MULTIPLE 1

/** An activation of a single column. */
typedef int32_t tinyrt_single;

/** Bytes of a single column for each tap. */
#define TINYRT_SINGLE_BYTES 4

/** Whether outputs of a column that share one scale have code of their own: more code than gain. */
#define TINYRT_ONE_SCALE 0

/** What of two columns a product runs over, set out once for many: their end, and how much of the
 *  loop's code is skipped when it is entered. */
typedef struct {
    const tinyrt_taps_word *end;
    int32_t skip;
} tinyrt_span;

static inline tinyrt_span tinyrt_span_of(const tinyrt_taps_word *columns, int32_t taps) {
    const tinyrt_span span = {columns + (2 * taps), tinyrt_skipped(taps, 52)};
    return span;
}

/** Writes four bytes to one of two columns. */
static inline void tinyrt_widen_four(const int8_t *x, tinyrt_taps_word *column) {
    column[0] = x[0];
    column[2] = x[1];
    column[4] = x[2];
    column[6] = x[3];
}

/** Writes count bytes to one of two columns. Returns where it goes on. */
static inline tinyrt_taps_word *tinyrt_widen(const int8_t *x, int32_t count,
                                             tinyrt_taps_word *column) {
    const int8_t *const end = x + count;
    for (const int8_t *const whole = x + (count & ~7); x != whole; x += 8, column += 16) {
        tinyrt_widen_four(x, column);
        tinyrt_widen_four(x + 4, column + 8);
    }
    for (; x != end; ++x, column += 2) {
        *column = *x;
    }
    return column;
}

/** Zeros behind one of two columns of so many taps, up to a multiple of four. */
static inline void tinyrt_pad_column(int32_t taps, tinyrt_taps_word *column) {
    for (; (taps % 4) != 0; ++taps, column += 2) {
        *column = 0;
    }
}

/** As tinyrt_widen, with the zeros behind it. */
static inline void tinyrt_widen_all(const int8_t *x, int32_t count, tinyrt_taps_word *column) {
    tinyrt_pad_column(count, tinyrt_widen(x, count, column));
}

/** Widens count bytes to a single column, with zeros up to a multiple of four. */
static inline const tinyrt_single *tinyrt_set_single(const int8_t *x, int32_t count,
                                                     tinyrt_taps_word *columns) {
    for (int32_t i = 0; i < ((count + 3) & ~3); ++i) {
        columns[i] = (i < count) ? x[i] : 0;
    }
    return columns;
}

/** As tinyrt_set_single. */
static inline const tinyrt_single *tinyrt_as_single(const int8_t *x, int32_t count,
                                                    tinyrt_taps_word *columns) {
    return tinyrt_set_single(x, count, columns);
}

/** acc + a * b, modulo 2^32. */
static inline int32_t tinyrt_add_product(int32_t acc, int32_t a, int32_t b) {
    return (int32_t)((uint32_t)acc + ((uint32_t)a * (uint32_t)b));
}

/** A half of a word in memory: one instruction where extracting it from a register takes two. */
static inline int32_t tinyrt_half_of(const int32_t *w, int32_t half) {
    int16_t value;
    (void)memcpy(&value, (const int16_t *)TINYRT_ALIGNED(w) + half, sizeof(value));
    return value;
}

#ifdef TINYRT_THUMB_ASSEMBLY

#define TINYRT_FOUR_TAPS_ONE TINYRT_TWO_TAPS_ONE TINYRT_TWO_TAPS_ONE
#define TINYRT_FOUR_TAPS_TWO TINYRT_TAP_TWO TINYRT_TAP_TWO TINYRT_TAP_TWO TINYRT_TAP_TWO
#define TINYRT_LOOP(name, end, body)                                                               \
    ".syntax unified\n"                                                                            \
    "b 2" name "f\n"                                                                               \
    "1" name ":\n" body "2" name ":\n"                                                             \
    "ldr %[t], %[" end "]\n"                                                                       \
    "cmp %[x], %[t]\n"                                                                             \
    "bne 1" name "b\n"

#if __ARM_ARCH_ISA_THUMB == 2

#define TINYRT_TWO_CHANNELS_ONE(even, odd, x0)                                                     \
    "ldrsh %[t], [%[w]], #2\n"                                                                     \
    "mla %[a" odd "], %[t], %[" x0 "], %[a" odd "]\n"                                              \
    "sxtb %[t], %[t]\n"                                                                            \
    "mla %[a" even "], %[t], %[" x0 "], %[a" even "]\n"
#define TINYRT_TWO_TAPS_ONE                                                                        \
    "ldrd %[x0], %[x1], [%[x]], #8\n" TINYRT_TWO_CHANNELS_ONE("0", "1", "x0")                      \
        TINYRT_TWO_CHANNELS_ONE("2", "3", "x0") TINYRT_TWO_CHANNELS_ONE("0", "1", "x1")            \
            TINYRT_TWO_CHANNELS_ONE("2", "3", "x1")

#define TINYRT_TWO_CHANNELS_TWO(even, odd)                                                         \
    "ldrsh %[t], [%[w]], #2\n"                                                                     \
    "mla %[a" odd "], %[t], %[x0], %[a" odd "]\n"                                                  \
    "mla %[b" odd "], %[t], %[x1], %[b" odd "]\n"                                                  \
    "sxtb.w %[t], %[t]\n"                                                                          \
    "mla %[a" even "], %[t], %[x0], %[a" even "]\n"                                                \
    "mla %[b" even "], %[t], %[x1], %[b" even "]\n"
#define TINYRT_TAP_TWO                                                                             \
    "ldrd %[x0], %[x1], [%[x]], #8\n" TINYRT_TWO_CHANNELS_TWO("0", "1")                            \
        TINYRT_TWO_CHANNELS_TWO("2", "3")
#define TINYRT_TEMPORARIES [t] "=&r"(t), [x0] "=&r"(x0), [x1] "=&r"(x1)
#define TINYRT_SUM "+r"
#define TINYRT_MANY_TAPS 16
#define TINYRT_MANY_TAPS_ONE                                                                       \
    TINYRT_FOUR_TAPS_ONE TINYRT_FOUR_TAPS_ONE TINYRT_FOUR_TAPS_ONE TINYRT_FOUR_TAPS_ONE
#define TINYRT_DECLARE_TEMPORARIES int32_t t, x0, x1

#else

#define TINYRT_PRODUCT_ONE(take, channel, x0)                                                      \
    take "muls %[v], %[" x0 "], %[v]\n"                                                            \
         "add %[a" channel "], %[v]\n"
#define TINYRT_TAP_ONE(x0)                                                                         \
    "ldmia %[w]!, {%[t]}\n" TINYRT_PRODUCT_ONE("sxth %[v], %[t]\n", "1", x0)                       \
        TINYRT_PRODUCT_ONE("sxtb %[v], %[t]\n", "0", x0) TINYRT_PRODUCT_ONE(                       \
            "asrs %[v], %[t], #16\n", "3",                                                         \
            x0) "lsls %[t], %[t], #8\n" TINYRT_PRODUCT_ONE("asrs %[v], %[t], #24\n", "2", x0)
#define TINYRT_TWO_TAPS_ONE                                                                        \
    "ldmia %[x]!, {%[x0]}\n" TINYRT_TAP_ONE("x0") "ldmia %[x]!, {%[x0]}\n" TINYRT_TAP_ONE("x0")

#define TINYRT_PRODUCT_TWO(take, add_a, add_b)                                                     \
    take "muls %[v], %[x0], %[v]\n" add_a take "muls %[v], %[x1], %[v]\n" add_b
#define TINYRT_TAP_TWO                                                                             \
    "ldmia %[x]!, {%[x0]}\n"                                                                       \
    "ldmia %[x]!, {%[x1]}\n"                                                                       \
    "ldmia %[w]!, {%[t]}\n" TINYRT_PRODUCT_TWO("sxth %[v], %[t]\n", TINYRT_ADD_TO("s1"),           \
                                               TINYRT_ADD_TO_S5)                                   \
        TINYRT_PRODUCT_TWO("sxtb %[v], %[t]\n", TINYRT_ADD_TO("s0"), TINYRT_ADD_TO("s4"))          \
            TINYRT_PRODUCT_TWO(                                                                    \
                "asrs %[v], %[t], #16\n", TINYRT_ADD_TO("s3"),                                     \
                TINYRT_ADD_TO(                                                                     \
                    "s7")) "lsls %[t], %[t], #8\n" TINYRT_PRODUCT_TWO("asrs %[v], %[t], #24\n",    \
                                                                      TINYRT_ADD_TO("s2"),         \
                                                                      TINYRT_ADD_TO("s6"))
/** The first activation of a tap that is loaded already. */
#define TINYRT_RESTORE_X0                                                                          \
    "subs %[x], #8\n"                                                                              \
    "ldr %[x0], [%[x]]\n"                                                                          \
    "adds %[x], #8\n"
#define TINYRT_TEMPORARIES [t] "=&l"(t), [v] "=&l"(v), [x0] "=&l"(x0), [x1] "=&l"(x1)
#define TINYRT_SUM "+h"
/* As many as a conditional branch can jump over. */
#define TINYRT_MANY_TAPS 8
#define TINYRT_MANY_TAPS_ONE TINYRT_FOUR_TAPS_ONE TINYRT_FOUR_TAPS_ONE
#define TINYRT_DECLARE_TEMPORARIES int32_t t, v, x0, x1

#endif

/** Sums of four channels over one column: those of channels 0 and 2 in acc[0] and acc[2], and with
 *  256 times those of channels 1 and 3 in acc[1] and acc[3].
 *  w holds for every tap a word: 256 * w1 + w0 in the low half, 256 * w3 + w2 in the high one.
 *  Requires: taps is a multiple of four, and not 0. Returns the end of w. */
static inline const int32_t *tinyrt_dot_one(const int32_t *w, const tinyrt_single *column,
                                            int32_t taps, int32_t *acc) {
    const tinyrt_taps_word *const end = column + taps;
    const tinyrt_taps_word *const long_end = column + (taps & -TINYRT_MANY_TAPS);
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    TINYRT_DECLARE_TEMPORARIES;
    __asm(TINYRT_UNROLLED(TINYRT_LOOP("0", "long_end", TINYRT_MANY_TAPS_ONE))
              TINYRT_LOOP("1", "end", TINYRT_FOUR_TAPS_ONE)
          : [a0] TINYRT_SUM(a0), [a1] TINYRT_SUM(a1), [a2] TINYRT_SUM(a2), [a3] TINYRT_SUM(a3),
            [w] "+l"(w), [x] "+l"(column), TINYRT_TEMPORARIES
          : [end] "m"(end), [long_end] "m"(long_end)
          : "cc", "memory");
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    return w;
}

/** As tinyrt_dot_one for two interleaved columns; the second one's sums are in acc[4] to acc[7].
 *
 *  In assembly because it takes every register that there is: compilers keep some of the sums on
 *  the stack. */
#if __ARM_ARCH_ISA_THUMB == 2

static inline const int32_t *tinyrt_dot_span(const int32_t *w, const tinyrt_taps_word *columns,
                                             const tinyrt_span *span, int32_t *acc) {
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    int32_t b0 = acc[4], b1 = acc[5], b2 = acc[6], b3 = acc[7];
    TINYRT_DECLARE_TEMPORARIES;
    __asm(TINYRT_ENTER("%[t]") TINYRT_LOOP_OF(TINYRT_FOUR_TAPS_TWO) "ldr %[t], %[end]\n"
                                                                    "cmp %[x], %[t]\n"
                                                                    "bne 1b\n"
          : [a0] TINYRT_SUM(a0), [a1] TINYRT_SUM(a1), [a2] TINYRT_SUM(a2), [a3] TINYRT_SUM(a3),
            [b0] TINYRT_SUM(b0), [b1] TINYRT_SUM(b1), [b2] TINYRT_SUM(b2), [b3] TINYRT_SUM(b3),
            [w] "+l"(w), [x] "+l"(columns), TINYRT_TEMPORARIES
          : [end] "m"(span->end)TINYRT_SKIP(span->skip)
          : "cc", "memory");
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    acc[4] = b0, acc[5] = b1, acc[6] = b2, acc[7] = b3;
    return w;
}

static inline const int32_t *tinyrt_dot_two(const int32_t *w, const tinyrt_taps_word *columns,
                                            int32_t taps, int32_t *acc) {
    const tinyrt_span span = tinyrt_span_of(columns, taps);
    return tinyrt_dot_span(w, columns, &span, acc);
}

#else

static inline const int32_t *tinyrt_dot_two(const int32_t *w, const tinyrt_taps_word *columns,
                                            int32_t taps, int32_t *acc) {
    const tinyrt_taps_word *const end = columns + (2 * taps);
    TINYRT_EIGHT_SUMS;
    TINYRT_DECLARE_TEMPORARIES;
    __asm volatile(
        TINYRT_EIGHT_LOOP(TINYRT_RESTORE_X0, TINYRT_EIGHT_TURNS("0", "end", TINYRT_FOUR_TAPS_TWO))
        : TINYRT_EIGHT_OPERANDS, [w] "+l"(w), [x] "+l"(columns), TINYRT_TEMPORARIES
        : [end] "m"(end), [acc] "m"(acc)
        : "cc", "memory", "lr");
    return w;
}

static inline const int32_t *tinyrt_dot_span(const int32_t *w, const tinyrt_taps_word *columns,
                                             const tinyrt_span *span, int32_t *acc) {
    return tinyrt_dot_two(w, columns, (int32_t)(span->end - columns) >> 1, acc);
}

#endif

#else

#define TINYRT_LANE(acc, a)                                                                        \
    int32_t a##0 = (acc)[0], a##1 = (acc)[1], a##2 = (acc)[2], a##3 = (acc)[3];
#define TINYRT_LANE_TAP(a, x)                                                                      \
    a##0 = tinyrt_add_product(a##0, w0, x);                                                        \
    a##1 = tinyrt_add_product(a##1, w1, x);                                                        \
    a##2 = tinyrt_add_product(a##2, w2, x);                                                        \
    a##3 = tinyrt_add_product(a##3, w3, x);
#define TINYRT_LANE_KEEP(acc, a) (acc)[0] = a##0, (acc)[1] = a##1, (acc)[2] = a##2, (acc)[3] = a##3;
#define TINYRT_LANES_TAP(tap)                                                                      \
    {                                                                                              \
        const int32_t w0 = ((const int8_t *)w)[4 * (tap)];                                         \
        const int32_t w1 = tinyrt_half_of(w + (tap), 0);                                           \
        const int32_t w2 = ((const int8_t *)w)[(4 * (tap)) + 2];                                   \
        const int32_t w3 = tinyrt_half_of(w + (tap), 1);                                           \
        const int32_t x0 = columns[(tap) * lanes];                                                 \
        TINYRT_LANE_TAP(a, x0)                                                                     \
        if (lanes == 2) {                                                                          \
            const int32_t x1 = columns[(2 * (tap)) + 1];                                           \
            TINYRT_LANE_TAP(b, x1)                                                                 \
            TINYRT_HOLD(TINYRT_FOUR_SUMS(a), TINYRT_FOUR_SUMS(b));                                 \
        } else {                                                                                   \
            TINYRT_HOLD(TINYRT_FOUR_SUMS(a));                                                      \
        }                                                                                          \
    }

/** Four taps a turn; lanes is 1 or 2, and a constant where this is called. */
static inline const int32_t *tinyrt_dot_lanes(const int32_t *w, const tinyrt_taps_word *columns,
                                              int32_t taps, int32_t lanes, int32_t *acc) {
    TINYRT_LANE(acc, a)
    TINYRT_LANE(acc + (4 * (lanes - 1)), b)
    for (const int32_t *const end = w + taps; w != end; w += 4, columns += 4 * lanes) {
        TINYRT_LANES_TAP(0)
        TINYRT_LANES_TAP(1)
        TINYRT_LANES_TAP(2)
        TINYRT_LANES_TAP(3)
    }
    TINYRT_LANE_KEEP(acc, a)
    if (lanes == 2) {
        TINYRT_LANE_KEEP(acc + 4, b)
    }
    return w;
}

/** Sums of four channels over one column: those of channels 0 and 2 in acc[0] and acc[2], and with
 *  256 times those of channels 1 and 3 in acc[1] and acc[3].
 *  w holds for every tap a word: 256 * w1 + w0 in the low half, 256 * w3 + w2 in the high one.
 *  Requires: taps is a multiple of four, and not 0. Returns the end of w. */
static inline const int32_t *tinyrt_dot_one(const int32_t *w, const tinyrt_taps_word *column,
                                            int32_t taps, int32_t *acc) {
    return tinyrt_dot_lanes(w, column, taps, 1, acc);
}

static inline const int32_t *tinyrt_dot_two(const int32_t *w, const tinyrt_taps_word *columns,
                                            int32_t taps, int32_t *acc) {
    return tinyrt_dot_lanes(w, columns, taps, 2, acc);
}

static inline const int32_t *tinyrt_dot_span(const int32_t *w, const tinyrt_taps_word *columns,
                                             const tinyrt_span *span, int32_t *acc) {
    return tinyrt_dot_two(w, columns, (int32_t)(span->end - columns) >> 1, acc);
}

#endif

/** As tinyrt_widen_all of two rows, one behind the other, to both columns. */
static inline void tinyrt_widen_two(const int8_t *x, int32_t count, tinyrt_taps_word *columns) {
    tinyrt_widen_all(x, count, columns);
    tinyrt_widen_all(x + count, count, columns + 1);
}

#include "tinyrt_tap_line.h"

#endif
