/** Outputs of a 3 x 3 depthwise filter of stride 2 along a line, in assembly: compilers keep its
 *  constants in memory, and load each by itself, where cores overlap loads side by side. Included
 *  by tinyrt_depthwise3x3_loop.h alone. */
#ifndef TINYRT_DEPTHWISE_TWO_H
#define TINYRT_DEPTHWISE_TWO_H

#include "tinyrt_flexible.h"

/** An instruction with a constant, which is loaded to t where it is in memory. */
#define TINYRT_TWO_WITH(constant, t, before, after)                                                \
    TINYRT_FIND_SPILLED("%[" constant "]")                                                         \
    TINYRT_IF_SPILLED("ldr %[" t "], %[" constant "]\n" before ", %[" t "], " after "\n",          \
                      before ", %[" constant "], " after "\n")

/** A column of inputs, the upper two as a pair in t0, and the constant in t3; then on. */
#define TINYRT_TWO_COLUMN(constant)                                                                \
    "ldrsb %[t0], [%[x], %[before]]\n"                                                             \
    "ldrsb %[t1], [%[x]]\n"                                                                        \
    "ldrsb %[t2], [%[x], %[behind]]\n"                                                             \
    "ldr %[t3], %[" constant "]\n"                                                                 \
    "add %[x], %[step]\n"                                                                          \
    "pkhbt %[t0], %[t0], %[t1], lsl #16\n"

/** All outputs up to end, from those at y on, of which there is one or more. Returns what the next
 *  one's sum begins with; x advances. */
static inline int32_t tinyrt_slide_columns(const tinyrt_channel *k, const tinyrt_line *line,
                                           int32_t step, const int8_t **x, int32_t one,
                                           const int8_t *end) {
    const int8_t *from = *x;
    int8_t *y = line->y;
    uint32_t t0, t1, t2, t3;
    __asm volatile(
        "1:\n" TINYRT_TWO_COLUMN("upper_1") "smlad %[one], %[t0], %[t3], %[one]\n" TINYRT_TWO_WITH(
            "lowest_01", "t3", "smlabt %[one], %[t2]", "%[one]") TINYRT_TWO_COLUMN("init")
            TINYRT_TWO_WITH("upper_2", "t1", "smlad %[t1], %[t0]", "%[one]")
                TINYRT_TWO_WITH("lowest_2", "one", "smlabb %[t1], %[t2]", "%[t1]")
                    TINYRT_TWO_WITH("upper_0", "one", "smlad %[one], %[t0]", "%[t3]")
                        TINYRT_TWO_WITH("lowest_01", "t3", "smlabb %[one], %[t2]",
                                        "%[one]") "ldr %[t0], %[mult]\n"
                                                  "ldr %[t2], %[rounding]\n"
                                                  "ldr %[t3], %[shift]\n"
                                                  "smmulr %[t1], %[t1], %[t0]\n"
                                                  "ldr %[t0], %[end]\n"
                                                  "add %[t2], %[t2], %[t1], asr #31\n"
                                                  "add %[t2], %[t2], %[t1], lsl #1\n"
                                                  "asr %[t2], %[t2], %[t3]\n"
                                                  "ssat %[t2], #8, %[t2]\n"
                                                  "strb %[t2], [%[y]]\n"
                                                  "add %[y], %[step]\n"
                                                  "cmp %[y], %[t0]\n"
                                                  "bne 1b\n"
        : [x] "+r"(from), [y] "+r"(y), [one] "+r"(one), [t0] "=&r"(t0), [t1] "=&r"(t1),
          [t2] "=&r"(t2), [t3] "=&r"(t3)
        : [before] "r"(line->before), [behind] "r"(line->behind), [step] "r"(step),
          [upper_0] "rm"(k->filter.upper[0]), [upper_1] "m"(k->filter.upper[1]),
          [upper_2] "rm"(k->filter.upper[2]), [lowest_01] "rm"(k->filter.lowest_01),
          [lowest_2] "rm"(k->filter.lowest_2), [init] "m"(k->init), [mult] "m"(k->mult),
          [rounding] "m"(k->rounding), [shift] "m"(k->shift), [end] "m"(end)
        : "cc", "memory");
    *x = from;
    return one;
}

#endif
