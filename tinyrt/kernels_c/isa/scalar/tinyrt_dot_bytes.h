/** Products of one row of activations with eight output channels, whose weights are bytes: three
 *  multiplications for four.
 *
 *  A word holds the weights of four channels for one tap, each raised by 128, so that none has a
 *  sign: u0 + 2^8 * u1 + 2^16 * u2 + 2^24 * u3. Three sums of products serve them: with the word,
 *  with its upper half, and with the word whose bytes have changed places in each half
 *  (tinyrt_row_bytes.h takes them apart). */
#ifndef TINYRT_DOT_BYTES_H
#define TINYRT_DOT_BYTES_H

#include "tinyrt_flexible.h"
#include "tinyrt_hold.h"

/** Sums of eight channels. */
#define TINYRT_BYTE_SUMS 6

#ifdef TINYRT_THUMB_ASSEMBLY

#if __ARM_ARCH_ISA_THUMB == 2

#define TINYRT_BYTES_OF(word, all, upper, swapped)                                                 \
    "lsr.w %[t], %[" word "], #16\n"                                                               \
    "mla %[" upper "], %[t], %[v], %[" upper "]\n"                                                 \
    "rev16.w %[t], %[" word "]\n"                                                                  \
    "mla %[" swapped "], %[t], %[v], %[" swapped "]\n"                                             \
    "mla %[" all "], %[" word "], %[v], %[" all "]\n"
#define TINYRT_BYTES_TAP                                                                           \
    "ldrsb.w %[v], [%[x]], #1\n"                                                                   \
    "ldrd %[p], %[q], [%[w]], #8\n" TINYRT_BYTES_OF("p", "a0", "a1", "a2")                         \
        TINYRT_BYTES_OF("q", "b0", "b1", "b2")
#define TINYRT_BYTES_CODE 48

/* Half as many taps as elsewhere, as each has eight products; any number of them. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_BYTES_LOOP TINYRT_BYTES_TAP
#else
#define TINYRT_BYTES_LOOP TINYRT_LOOP_OF(TINYRT_BYTES_TAP TINYRT_BYTES_TAP)
#endif

/** Adds the products of all taps to the sums of two words of channels, three of each.
 *  Requires: taps is not 0. Returns the end of w. */
static inline const int32_t *tinyrt_dot_bytes(const int32_t *w, const int8_t *x, int32_t taps,
                                              int32_t *sums) {
    const int8_t *const end = x + taps;
    const int32_t skip = (-taps & ((TINYRT_LOOP_TAPS / 2) - 1)) * TINYRT_BYTES_CODE;
    int32_t a0 = sums[0], a1 = sums[1], a2 = sums[2], b0 = sums[3], b1 = sums[4], b2 = sums[5];
    int32_t p, q, t, v;
    (void)skip;
    __asm(
        ".syntax unified\n" TINYRT_ENTER("%[t]") TINYRT_BYTES_LOOP "ldr %[t], %[end]\n"
                                                                   "cmp %[x], %[t]\n"
                                                                   "bne 1b\n"
        : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [b0] "+r"(b0), [b1] "+r"(b1), [b2] "+r"(b2),
          [w] "+r"(w), [x] "+r"(x), [p] "=&r"(p), [q] "=&r"(q), [t] "=&r"(t), [v] "=&r"(v)
        : [end] "m"(end)TINYRT_SKIP(skip)
        : "cc", "memory");
    sums[0] = a0, sums[1] = a1, sums[2] = a2, sums[3] = b0, sums[4] = b1, sums[5] = b2;
    return w;
}

#undef TINYRT_BYTES_LOOP
#undef TINYRT_BYTES_TAP
#undef TINYRT_BYTES_CODE
#undef TINYRT_BYTES_OF

#else

/* Sums lie in upper registers, the last one in lr; others may be in memory instead. Products with
 * a word overwrite it. */
#define TINYRT_BYTES_OF(word, all, upper, swapped)                                                 \
    "lsrs %[t], " word ", #16\n"                                                                   \
    "muls %[t], %[v], %[t]\n"                                                                      \
    "tinyrt_add \"" upper "\", %[t], %[v]\n"                                                       \
    "rev16 %[t], " word "\n"                                                                       \
    "muls %[t], %[v], %[t]\n"                                                                      \
    "tinyrt_add \"" swapped "\", %[t], %[v]\n"                                                     \
    "muls " word ", %[v], " word "\n"                                                              \
    "tinyrt_add \"" all "\", " word ", %[t]\n"
#define TINYRT_BYTES_TAP                                                                           \
    "ldrsb %[v], [%[x], %[zero]]\n"                                                                \
    "adds %[x], #1\n"                                                                              \
    "ldmia %[w]!, {r4, r5}\n" TINYRT_BYTES_OF("r4", "%[s0]", "%[s1]", "%[s2]")                     \
        TINYRT_BYTES_OF("r5", "%[s3]", "%[s4]", "lr")

/** sum += product; by t where the sum is in memory. The activation is read again if t was that. */
#define TINYRT_BYTES_ADD                                                                           \
    TINYRT_FIND_SPILLED("\\sum")                                                                   \
    TINYRT_IF_SPILLED("ldr \\t, \\sum\n"                                                           \
                      "adds \\t, \\product\n"                                                      \
                      "str \\t, \\sum\n"                                                           \
                      ".ifc \\t, %[v]\n"                                                           \
                      "subs %[x], #1\n"                                                            \
                      "ldrsb %[v], [%[x], %[zero]]\n"                                              \
                      "adds %[x], #1\n"                                                            \
                      ".endif\n",                                                                  \
                      "add \\sum, \\product\n")

/** Turns until x is at an end; there may be none. With sums in memory, a turn is longer than a
 * conditional branch can jump over. */
#define TINYRT_BYTES_TURNS(name, end, taps)                                                        \
    "b 2" name "f\n"                                                                               \
    "1" name ":\n" taps "2" name ":\n"                                                             \
    "ldr %[t], %[" end "]\n"                                                                       \
    "cmp %[x], %[t]\n" TINYRT_FIND_SPILLED("%[s0]%[s1]%[s2]%[s3]%[s4]")                            \
        TINYRT_IF_SPILLED("beq 3" name "f\n"                                                       \
                          "b 1" name "b\n"                                                         \
                          "3" name ":\n",                                                          \
                          "bne 1" name "b\n")
#define TINYRT_BYTES_LOOP                                                                          \
    TINYRT_UNROLLED(TINYRT_BYTES_TURNS(                                                            \
        "0", "long_end", TINYRT_BYTES_TAP TINYRT_BYTES_TAP TINYRT_BYTES_TAP TINYRT_BYTES_TAP))     \
    TINYRT_BYTES_TURNS("1", "end", TINYRT_BYTES_TAP)

/** Moves all sums between memory at t and registers. */
#define TINYRT_BYTES_MOVE(memory, upper)                                                           \
    "ldr %[t], %[sums]\n" TINYRT_WITH_MACRO(                                                       \
        "tinyrt_move", "sum, at", TINYRT_FIND_SPILLED("\\sum") TINYRT_IF_SPILLED(memory, upper),   \
        "tinyrt_move \"%[s0]\", 0\n"                                                               \
        "tinyrt_move \"%[s1]\", 4\n"                                                               \
        "tinyrt_move \"%[s2]\", 8\n"                                                               \
        "tinyrt_move \"%[s3]\", 12\n"                                                              \
        "tinyrt_move \"%[s4]\", 16\n"                                                              \
        "tinyrt_move \"lr\", 20\n")

static inline const int32_t *tinyrt_dot_bytes(const int32_t *w, const int8_t *x, int32_t taps,
                                              int32_t *sums) {
    const int8_t *const end = x + taps;
    const int8_t *const long_end = x + (taps & ~3);
    int32_t s0, s1, s2, s3, s4, t, v;
    __asm("" : "=hm"(s0), "=hm"(s1), "=hm"(s2), "=hm"(s3), "=rm"(s4));
    __asm volatile(
        ".syntax unified\n" TINYRT_BYTES_MOVE("ldr %[v], [%[t], #\\at]\n"
                                              "str %[v], \\sum\n",
                                              "ldr %[v], [%[t], #\\at]\n"
                                              "mov \\sum, %[v]\n")
            TINYRT_WITH_MACRO("tinyrt_add", "sum, product, t", TINYRT_BYTES_ADD, TINYRT_BYTES_LOOP)
                TINYRT_BYTES_MOVE("ldr %[v], \\sum\n"
                                  "str %[v], [%[t], #\\at]\n",
                                  "mov %[v], \\sum\n"
                                  "str %[v], [%[t], #\\at]\n")
        : [s0] "+hm"(s0), [s1] "+hm"(s1), [s2] "+hm"(s2), [s3] "+hm"(s3), [s4] "+rm"(s4),
          [w] "+l"(w), [x] "+l"(x), [t] "=&l"(t), [v] "=&l"(v)
        : [zero] "l"(0), [end] "m"(end), [long_end] "m"(long_end), [sums] "m"(sums)
        : "cc", "memory", "r4", "r5", "lr");
    return w;
}

#undef TINYRT_BYTES_MOVE
#undef TINYRT_BYTES_LOOP
#undef TINYRT_BYTES_TURNS
#undef TINYRT_BYTES_ADD
#undef TINYRT_BYTES_TAP
#undef TINYRT_BYTES_OF

#endif

#else

#define TINYRT_BYTES_TAP(tap)                                                                      \
    {                                                                                              \
        const uint32_t v = (uint32_t)(int32_t)x[tap];                                              \
        const uint32_t p = (uint32_t)w[2 * (tap)];                                                 \
        const uint32_t q = (uint32_t)w[(2 * (tap)) + 1];                                           \
        a0 += p * v;                                                                               \
        a1 += (p >> 16) * v;                                                                       \
        a2 += ((p >> 8) & 0xff00ffu) * v;                                                          \
        b0 += q * v;                                                                               \
        b1 += (q >> 16) * v;                                                                       \
        b2 += ((q >> 8) & 0xff00ffu) * v;                                                          \
        TINYRT_HOLD(TINYRT_THREE_SUMS(a), TINYRT_THREE_SUMS(b));                                   \
    }

/** Sums of products with the words, their upper halves, and their odd bytes: together they say what
 * those with changed bytes are. */
static inline const int32_t *tinyrt_dot_bytes(const int32_t *w, const int8_t *x, int32_t taps,
                                              int32_t *sums) {
    uint32_t a0 = 0, a1 = 0, a2 = 0, b0 = 0, b1 = 0, b2 = 0;
    const int8_t *const end = x + taps;
#ifndef __OPTIMIZE_SIZE__
    for (const int8_t *const fours = x + (taps & ~3); x != fours; x += 4, w += 8) {
        TINYRT_BYTES_TAP(0)
        TINYRT_BYTES_TAP(1)
        TINYRT_BYTES_TAP(2)
        TINYRT_BYTES_TAP(3)
    }
#endif
    for (; x != end; ++x, w += 2) {
        TINYRT_SHORT_LOOP;
        TINYRT_BYTES_TAP(0)
    }
    sums[0] = (int32_t)((uint32_t)sums[0] + a0);
    sums[1] = (int32_t)((uint32_t)sums[1] + a1);
    sums[2] = (int32_t)((uint32_t)sums[2] + (a2 + (a0 << 8) - (a2 << 16)));
    sums[3] = (int32_t)((uint32_t)sums[3] + b0);
    sums[4] = (int32_t)((uint32_t)sums[4] + b1);
    sums[5] = (int32_t)((uint32_t)sums[5] + (b2 + (b0 << 8) - (b2 << 16)));
    return w;
}

#undef TINYRT_BYTES_TAP

#endif

#endif
