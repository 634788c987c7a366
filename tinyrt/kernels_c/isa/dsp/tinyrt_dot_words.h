/** Sums over one column, four words of weights at a time: a load of four words takes five cycles,
 * of two words three. tinyrt_columns.h includes this. */
#if defined(__clang__) || defined(__OPTIMIZE_SIZE__) || !defined(__ARM_FEATURE_UNALIGNED)

#include "tinyrt_tap_line.h"

#else

/** Four taps, which are the bytes of x. */
#define TINYRT_WORDS_PAIRS(first, second)                                                          \
    "smlad %[a1], " first ", %[t], %[a1]\n"                                                        \
    "sxtb16 " first ", " first "\n"                                                                \
    "smlad %[a0], " first ", %[t], %[a0]\n" TINYRT_ADD_PAIRS(                                      \
        "a3", second, "t", first) "sxtb16 " second ", " second                                     \
                                  "\n" TINYRT_ADD_PAIRS("a2", second, "t", first)
#define TINYRT_WORDS_FOUR(x)                                                                       \
    "ldmia.w %[w]!, {r2-r5}\n"                                                                     \
    "sxtb16 %[t], " x                                                                              \
    "\n" TINYRT_WORDS_PAIRS("r2", "r3") "sxtb16 %[t], " x                                          \
                                        ", ror #8\n" TINYRT_WORDS_PAIRS("r4", "r5")

/** Eight of them. Words of activations are loaded side by side, where cores overlap them. */
#define TINYRT_WORDS_EIGHT                                                                         \
    "ldr.w %[x1], [%[x], #4]\n"                                                                    \
    "ldr.w %[x0], [%[x]], #8\n" TINYRT_WORDS_FOUR("%[x0]") TINYRT_WORDS_FOUR("%[x1]")
enum { TINYRT_WORDS_EIGHT_CODE = 128 };

#ifdef TINYRT_FAST
#define TINYRT_WORDS_LOOP                                                                          \
    TINYRT_WORDS_EIGHT TINYRT_WORDS_EIGHT TINYRT_WORDS_EIGHT TINYRT_WORDS_EIGHT
#else
#define TINYRT_WORDS_LOOP TINYRT_WORDS_EIGHT TINYRT_WORDS_EIGHT
#endif

/** A single column, set out once for many products: where it begins and ends, and how much of the
 *  loop's code is skipped when it is entered. */
typedef struct {
    const tinyrt_single *x;
    const tinyrt_single *end;
    int32_t skip;
} tinyrt_tap_line;

/** Requires: taps is a multiple of four, and not 0. */
static inline tinyrt_tap_line tinyrt_tap_line_of(const tinyrt_single *x, int32_t taps) {
    const int32_t skipped = -taps & (TINYRT_LOOP_TAPS - 1);
    const tinyrt_tap_line line = {x, x + taps,
                                  (skipped * (TINYRT_WORDS_EIGHT_CODE / 8)) + (skipped & 4)};
    return line;
}

/** The loop takes every register: what compilers would keep there meanwhile is in memory, where it
 *  need not be saved for each block. */
#define TINYRT_HELD_FOR_LINE(fields) TINYRT_IN_MEMORY(fields)

/** Whether a scale of all channels is read once, before their weights push it out of a cache. */
#define TINYRT_SCALE_READ_ONCE 1

/** As tinyrt_dot_one. The loop is entered in its middle where taps are no multiple of its own, and
 *  between two words of activations where skip has the bit 4: then the second one is loaded
 *  before. */
static inline const int32_t *tinyrt_dot_words(const int32_t *w, const tinyrt_tap_line *line,
                                              int32_t *acc) {
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    const tinyrt_single *x;
    uint32_t x0, x1, t;
    TINYRT_OPAQUE(a2, a3);
    __asm("ldr %[x], %[begin]\n"
          "ldr lr, %[end]\n" TINYRT_FIND_SPILLED("%[a2]%[a3]") TINYRT_WITH_ADD(
              TINYRT_IF_SPILLED("1:\n"
                                "ldr %[x0], [%[x]], #4\n" TINYRT_WORDS_FOUR("%[x0]"),
                                "ldr r2, %[skip]\n"
                                "cbz r2, 1f\n"
                                "ldr %[x1], [%[x]]\n"
                                "and %[x0], r2, #4\n"
                                "add %[x], %[x], %[x0]\n"
                                ".balign 4\n"
                                "add pc, r2\n"
                                "nop\n"
                                "1:\n" TINYRT_WORDS_LOOP)) "cmp %[x], lr\n"
                                                           "bne 1b\n"
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+rm"(a2), [a3] "+rm"(a3), [w] "+r"(w), [x] "=&r"(x),
            [x0] "=&r"(x0), [x1] "=&r"(x1), [t] "=&r"(t)
          : [begin] "m"(line->x), [end] "m"(line->end), [skip] "m"(line->skip)
          : "r2", "r3", "r4", "r5", "lr", "cc", "memory");
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    return w;
}

#undef TINYRT_WORDS_PAIRS
#undef TINYRT_WORDS_FOUR
#undef TINYRT_WORDS_EIGHT
#undef TINYRT_WORDS_LOOP

#endif
