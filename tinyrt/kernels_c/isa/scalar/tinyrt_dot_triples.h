/** Products of four pixels with two output channels: three multiplications for four.
 *
 *  Four activations of a tap are three words: x0 + 2^24 * x3, x1 + 2^16 * x3 and x2 + 2^8 * x3,
 *  modulo 2^32. Sums of their products with weights hold those of four pixels, of 24 bits each
 *  (tinyrt_block_four_loop.h). */
#ifndef TINYRT_DOT_TRIPLES_H
#define TINYRT_DOT_TRIPLES_H

#include "tinyrt_flexible.h"
#include "tinyrt_hold.h"
#include "tinyrt_triple.h"

/** Pairs of channels whose sums fit into registers. */
#ifdef __arm__
#define TINYRT_TRIPLE_PAIRS 1
#else
#define TINYRT_TRIPLE_PAIRS 2
#endif

/** Adds the products of all taps to the sums of two channels, three of each; w holds for every tap
 *  both channels' weights. Requires: taps is a multiple of four, and not 0. Returns the end of w.
 */
#define TINYRT_DOT_TRIPLES(name, type)                                                             \
    static inline const type *name(const type *w, const int32_t *x, int32_t taps, int32_t *sums) { \
        TINYRT_TRIPLE_SUMS_OF(a, 0)                                                                \
        TINYRT_TRIPLE_SUMS_OF(b, 3)                                                                \
        for (const type *const end = w + (2 * taps); w != end; w += 8, x += 12) {                  \
            TINYRT_TRIPLE_OF(0) TINYRT_TRIPLE_OF(1) TINYRT_TRIPLE_OF(2) TINYRT_TRIPLE_OF(3)        \
        }                                                                                          \
        TINYRT_TRIPLE_KEEP(a, 0) TINYRT_TRIPLE_KEEP(b, 3) return w;                                \
    }

/** The same of two such pairs: the second one's weights lie behind those of the first one. */
#define TINYRT_DOT_TRIPLE_PAIRS(name, type)                                                        \
    static inline const type *name(const type *w, const int32_t *x, int32_t taps, int32_t *sums) { \
        TINYRT_TRIPLE_SUMS_OF(a, 0)                                                                \
        TINYRT_TRIPLE_SUMS_OF(b, 3)                                                                \
        TINYRT_TRIPLE_SUMS_OF(c, 6) TINYRT_TRIPLE_SUMS_OF(d, 9) const type *next = w + (2 * taps); \
        for (const type *const end = next; w != end; w += 8, next += 8, x += 12) {                 \
            TINYRT_TRIPLES_OF(0)                                                                   \
            TINYRT_TRIPLES_OF(1)                                                                   \
            TINYRT_TRIPLES_OF(2)                                                                   \
            TINYRT_TRIPLES_OF(3)                                                                   \
        }                                                                                          \
        TINYRT_TRIPLE_KEEP(a, 0)                                                                   \
        TINYRT_TRIPLE_KEEP(b, 3) TINYRT_TRIPLE_KEEP(c, 6) TINYRT_TRIPLE_KEEP(d, 9) return next;    \
    }
#define TINYRT_TRIPLE_SUMS_OF(sum, at)                                                             \
    uint32_t sum##0 = (uint32_t)sums[at];                                                          \
    uint32_t sum##1 = (uint32_t)sums[(at) + 1];                                                    \
    uint32_t sum##2 = (uint32_t)sums[(at) + 2];
#define TINYRT_TRIPLE_KEEP(sum, at)                                                                \
    sums[at] = (int32_t)sum##0;                                                                    \
    sums[(at) + 1] = (int32_t)sum##1;                                                              \
    sums[(at) + 2] = (int32_t)sum##2;
#define TINYRT_TRIPLE_OF(tap)                                                                      \
    TINYRT_TRIPLE_PAIR(a, b, w, tap)                                                               \
    TINYRT_HOLD(TINYRT_THREE_SUMS(a), TINYRT_THREE_SUMS(b));
#define TINYRT_TRIPLES_OF(tap)                                                                     \
    TINYRT_TRIPLE_PAIR(a, b, w, tap)                                                               \
    TINYRT_TRIPLE_PAIR(c, d, next, tap)                                                            \
    TINYRT_HOLD(TINYRT_THREE_SUMS(a), TINYRT_THREE_SUMS(b), TINYRT_THREE_SUMS(c),                  \
                TINYRT_THREE_SUMS(d));
#define TINYRT_TRIPLE_PAIR(sum, other, w, tap)                                                     \
    TINYRT_TRIPLE_BY(sum, (w)[2 * (tap)], 3 * (tap))                                               \
    TINYRT_TRIPLE_BY(other, (w)[(2 * (tap)) + 1], 3 * (tap))
#define TINYRT_TRIPLE_BY(sum, weight, at)                                                          \
    sum##0 += (uint32_t)(int32_t)(weight) * (uint32_t)x[at];                                       \
    sum##1 += (uint32_t)(int32_t)(weight) * (uint32_t)x[(at) + 1];                                 \
    sum##2 += (uint32_t)(int32_t)(weight) * (uint32_t)x[(at) + 2];

#if defined(TINYRT_THUMB_ASSEMBLY) && (__ARM_ARCH_ISA_THUMB == 2)

#define TINYRT_TRIPLE_CHANNEL(sum)                                                                 \
    "ldrsb %[v], [%[w]], #1\n"                                                                     \
    "mla %[" sum "0], %[v], r4, %[" sum "0]\n"                                                     \
    "mla %[" sum "1], %[v], r5, %[" sum "1]\n"                                                     \
    "mla %[" sum "2], %[v], r6, %[" sum "2]\n"
#define TINYRT_TRIPLE_TAP                                                                          \
    "ldmia.w %[x]!, {r4, r5, r6}\n" TINYRT_TRIPLE_CHANNEL("a") TINYRT_TRIPLE_CHANNEL("b")
#define TINYRT_TRIPLE_CODE 36
#define TINYRT_TRIPLE_FOUR TINYRT_TRIPLE_TAP TINYRT_TRIPLE_TAP TINYRT_TRIPLE_TAP TINYRT_TRIPLE_TAP

/** Adds the products of all taps to the sums of two channels, three of each; w holds for every tap
 *  both channels' weights. Requires: taps is a multiple of four, and not 0. Returns the end of w.
 */
static inline const int8_t *tinyrt_dot_triples(const int8_t *w, const int32_t *x, int32_t taps,
                                               int32_t *sums) {
    const int32_t *const end = x + (TINYRT_TRIPLE * taps);
    const int32_t skip = tinyrt_skipped(taps, TINYRT_TRIPLE_CODE);
    int32_t a0 = sums[0], a1 = sums[1], a2 = sums[2], b0 = sums[3], b1 = sums[4], b2 = sums[5];
    int32_t v;
    (void)skip;
    __asm(".syntax unified\n" TINYRT_ENTER("%[v]")
              TINYRT_LOOP_OF(TINYRT_TRIPLE_FOUR) "ldr %[v], %[end]\n"
                                                 "cmp %[x], %[v]\n"
                                                 "bne 1b\n"
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [b0] "+r"(b0), [b1] "+r"(b1),
            [b2] "+r"(b2), [w] "+r"(w), [x] "+r"(x), [v] "=&r"(v)
          : [end] "m"(end)TINYRT_SKIP(skip)
          : "cc", "memory", "r4", "r5", "r6");
    sums[0] = a0, sums[1] = a1, sums[2] = a2, sums[3] = b0, sums[4] = b1, sums[5] = b2;
    return w;
}

#undef TINYRT_TRIPLE_FOUR
#undef TINYRT_TRIPLE_TAP
#undef TINYRT_TRIPLE_CODE
#undef TINYRT_TRIPLE_CHANNEL

#else

TINYRT_DOT_TRIPLES(tinyrt_dot_triples, int8_t)

#endif

/* The same of weights that are raised by 128, which lie at even addresses: cores without Thumb-2
 * load them by one instruction. */
#if defined(TINYRT_THUMB_ASSEMBLY) && (__ARM_ARCH_ISA_THUMB == 1)

/* A tap's two weights are one half of a word. The first channel takes it as it is: its sums are
 * too large by 256 times those of the second one, which leave it behind the loop. Sums lie in upper
 * registers, the last one in lr; others may be in memory instead. The second channel's products
 * overwrite activations. */
#define TINYRT_TRIPLE_COPIED(sum, x)                                                               \
    "movs %[t], %[v]\n"                                                                            \
    "muls %[t], " x ", %[t]\n"                                                                     \
    "tinyrt_add \"" sum "\", %[t], r6\n"
#define TINYRT_TRIPLE_OVER(sum, x, free)                                                           \
    "muls " x ", %[t], " x "\n"                                                                    \
    "tinyrt_add \"" sum "\", " x ", " free "\n"
#define TINYRT_TRIPLE_TAP(at)                                                                      \
    "ldmia %[x]!, {r4, r5, r6}\n"                                                                  \
    "ldrh %[v], [%[w], #" at "]\n" TINYRT_TRIPLE_COPIED("%[s0]", "r4")                             \
        TINYRT_TRIPLE_COPIED("%[s1]", "r5") "lsrs %[t], %[v], #8\n"                                \
                                            "muls %[v], r6, %[v]\n"                                \
                                            "tinyrt_add \"%[s2]\", %[v], r6\n" TINYRT_TRIPLE_OVER( \
                                                "%[s3]", "r4", "%[v]")                             \
                                                TINYRT_TRIPLE_OVER("%[s4]", "r5", "%[v]")          \
                                                    TINYRT_TRIPLE_OVER("lr", "r6", "%[v]")

/** sum += product; by free where the sum is in memory. r6 is read again if it was that. */
#define TINYRT_TRIPLE_ADD                                                                          \
    TINYRT_FIND_SPILLED("\\sum")                                                                   \
    TINYRT_IF_SPILLED("ldr \\free, \\sum\n"                                                        \
                      "adds \\free, \\product\n"                                                   \
                      "str \\free, \\sum\n"                                                        \
                      ".ifc \\free, r6\n"                                                          \
                      "subs %[x], #4\n"                                                            \
                      "ldmia %[x]!, {r6}\n"                                                        \
                      ".endif\n",                                                                  \
                      "add \\sum, \\product\n")

/** The loop; it is too long for a conditional branch where any of these is in memory. */
#define TINYRT_TRIPLE_TURNS                                                                        \
    "1:\n" TINYRT_TRIPLE_TAP("0") TINYRT_TRIPLE_TAP("2") TINYRT_TRIPLE_TAP("4")                    \
        TINYRT_TRIPLE_TAP("6") "adds %[w], #8\n" TINYRT_FIND_SPILLED("%[end]")                     \
            TINYRT_IF_SPILLED("ldr %[t], %[end]\n"                                                 \
                              "cmp %[x], %[t]\n",                                                  \
                              "cmp %[x], %[end]\n")                                                \
                TINYRT_FIND_SPILLED("%[s0]%[s1]%[s2]%[s3]%[s4]") TINYRT_IF_SPILLED("beq 2f\n"      \
                                                                                   "b 1b\n"        \
                                                                                   "2:\n",         \
                                                                                   "bne 1b\n")

/** sum = from, or the other way round. */
#define TINYRT_TRIPLE_PUT                                                                          \
    TINYRT_FIND_SPILLED("\\sum")                                                                   \
    TINYRT_IF_SPILLED("str \\from, \\sum\n", "mov \\sum, \\from\n")
#define TINYRT_TRIPLE_GET                                                                          \
    TINYRT_FIND_SPILLED("\\sum")                                                                   \
    TINYRT_IF_SPILLED("ldr \\to, \\sum\n", "mov \\to, \\sum\n")

/** Sums of the second channel, and those of the first one with it: from memory at t, and back. */
#define TINYRT_TRIPLE_JOIN(first, second, at, behind)                                              \
    "ldr %[v], [%[t], #" behind "]\n"                                                              \
    "tinyrt_put \"" second "\", %[v]\n"                                                            \
    "lsls %[v], %[v], #8\n"                                                                        \
    "ldr r4, [%[t], #" at "]\n"                                                                    \
    "adds r4, r4, %[v]\n"                                                                          \
    "tinyrt_put \"" first "\", r4\n"
#define TINYRT_TRIPLE_PART(first, second, at, behind)                                              \
    "tinyrt_get %[v], \"" second "\"\n"                                                            \
    "str %[v], [%[t], #" behind "]\n"                                                              \
    "lsls %[v], %[v], #8\n"                                                                        \
    "tinyrt_get r4, \"" first "\"\n"                                                               \
    "subs r4, r4, %[v]\n"                                                                          \
    "str r4, [%[t], #" at "]\n"
#define TINYRT_TRIPLE_ALL(part)                                                                    \
    "ldr %[t], %[sums]\n" part("%[s0]", "%[s3]", "0", "12") part("%[s1]", "%[s4]", "4", "16")      \
        part("%[s2]", "lr", "8", "20")
#define TINYRT_TRIPLE_BEGIN                                                                        \
    TINYRT_WITH_MACRO("tinyrt_put", "sum, from", TINYRT_TRIPLE_PUT,                                \
                      TINYRT_TRIPLE_ALL(TINYRT_TRIPLE_JOIN))
#define TINYRT_TRIPLE_LOOP                                                                         \
    TINYRT_WITH_MACRO("tinyrt_add", "sum, product, free", TINYRT_TRIPLE_ADD, TINYRT_TRIPLE_TURNS)
#define TINYRT_TRIPLE_END                                                                          \
    TINYRT_WITH_MACRO("tinyrt_get", "to, sum", TINYRT_TRIPLE_GET,                                  \
                      TINYRT_TRIPLE_ALL(TINYRT_TRIPLE_PART))

static inline const uint8_t *tinyrt_dot_raised(const uint8_t *w, const int32_t *x, int32_t taps,
                                               int32_t *sums) {
    const int32_t *end = x + (TINYRT_TRIPLE * taps);
    int32_t s0, s1, s2, s3, s4, t, v;
    __asm("" : "=hm"(s0), "=hm"(s1), "=hm"(s2), "=hm"(s3), "=rm"(s4));
    __asm("" : "+hm"(end));
    __asm volatile(
        ".syntax unified\n" TINYRT_TRIPLE_BEGIN TINYRT_TRIPLE_LOOP TINYRT_TRIPLE_END
        : [s0] "+hm,hm"(s0), [s1] "+hm,hm"(s1), [s2] "+hm,hm"(s2), [s3] "+hm,hm"(s3),
          [s4] "+rm,rm"(s4), [w] "+l,l"(w), [x] "+l,l"(x), [t] "=&l,&l"(t), [v] "=&l,&l"(v)
        : [end] "h,?m"(end), [sums] "m,m"(sums)
        : "cc", "memory", "r4", "r5", "r6", "lr");
    return w;
}

#undef TINYRT_TRIPLE_END
#undef TINYRT_TRIPLE_LOOP
#undef TINYRT_TRIPLE_BEGIN
#undef TINYRT_TRIPLE_ALL
#undef TINYRT_TRIPLE_PART
#undef TINYRT_TRIPLE_JOIN
#undef TINYRT_TRIPLE_GET
#undef TINYRT_TRIPLE_PUT
#undef TINYRT_TRIPLE_TURNS
#undef TINYRT_TRIPLE_ADD
#undef TINYRT_TRIPLE_TAP
#undef TINYRT_TRIPLE_OVER
#undef TINYRT_TRIPLE_COPIED

#else

TINYRT_DOT_TRIPLES(tinyrt_dot_raised, uint8_t)

#endif

#if TINYRT_TRIPLE_PAIRS == 2

TINYRT_DOT_TRIPLE_PAIRS(tinyrt_dot_triples_pairs, int8_t)
TINYRT_DOT_TRIPLE_PAIRS(tinyrt_dot_raised_pairs, uint8_t)

#endif

#endif
