/** Sums of tiles in assembly, where this is included: TINYRT_TILE_FOUR takes four channels of a
 * place in TINYRT_TILE_FOUR_CODE bytes of code, TINYRT_TILE_FOUR_SPILLED where sums may be in
 * memory. TINYRT_PLACE_BYTES is the text of the bytes of a place. */

/** Taps of the loop, which is entered in its middle where channels are no multiple. */
#if TINYRT_LOOP_TAPS == 16
#define TINYRT_TILE_TAPS 8
#define TINYRT_TILE_LOOP TINYRT_TILE_FOUR TINYRT_TILE_FOUR
#else
#define TINYRT_TILE_TAPS TINYRT_LOOP_TAPS
#define TINYRT_TILE_LOOP TINYRT_LOOP_OF(TINYRT_TILE_FOUR)
#endif

/** What the loop reads from memory: from operands there or, for clang, which takes a register for
 * each, from the stack. */
#ifdef __clang__
#define TINYRT_TILE_END "[sp]"
#define TINYRT_TILE_KEPT "[sp, #4]"
#define TINYRT_TILE_BACK "[sp, #8]"
#define TINYRT_TILE_END_KEPT "[sp, #12]"
#define TINYRT_TILE_ENTERED                                                                        \
    TINYRT_IF_FREE(TINYRT_ENTER_FROM("[sp, #16]", "%[w0]") TINYRT_TILE_LOOP,                       \
                   "1:\n" TINYRT_TILE_FOUR_SPILLED)

/** Puts there what is where the second tile's sums will be, and takes both that change from there.
 */
#define TINYRT_TILE_BEGIN                                                                          \
    "strd %[b0], %[b1], [sp, #-24]!\n"                                                             \
    "strd %[b2], %[b3], [sp, #8]\n"                                                                \
    "strd %[x0], free, [sp, #16]\n"                                                                \
    "mov %[b0], %[a0]\n"                                                                           \
    "mov %[b1], %[a1]\n"                                                                           \
    "mov %[b2], %[a2]\n"                                                                           \
    "mov %[b3], %[a3]\n"
#define TINYRT_TILE_DONE                                                                           \
    "ldr free, [sp, #20]\n"                                                                        \
    "ldrd %[b0], %[b1], [sp], #24\n"
#else
#define TINYRT_TILE_END "%[end]"
#define TINYRT_TILE_KEPT "%[sums]"
#define TINYRT_TILE_BACK "%[back]"
#define TINYRT_TILE_END_KEPT "%[end_sums]"
#define TINYRT_TILE_ENTERED                                                                        \
    TINYRT_IF_SPILLED("1:\n" TINYRT_TILE_FOUR_SPILLED, TINYRT_ENTER("%[w0]") TINYRT_TILE_LOOP)
#endif

/** All channels of a place. */
#define TINYRT_TILE_PLACE                                                                          \
    TINYRT_TILE_ENTERED                                                                            \
    "ldr %[w0], " TINYRT_TILE_END "\n"                                                             \
    "cmp %[x], %[w0]\n"                                                                            \
    "bne 1b\n"

/** On to the next place. */
#define TINYRT_TILE_NEXT                                                                           \
    "adds %[w0], #" TINYRT_PLACE_BYTES "\n"                                                        \
    "str %[w0], " TINYRT_TILE_END "\n"                                                             \
    "ldr %[x1], " TINYRT_TILE_BACK "\n"                                                            \
    "sub %[x], %[w0], %[x1]\n"

/** Keeps a sum, which may be in memory, so far behind w0. */
#define TINYRT_KEEP(sum, at) "tinyrt_keep \"%[" sum "]\", " at "\n"
#define TINYRT_KEEP_SUM                                                                            \
    TINYRT_FIND_SPILLED("\\sum")                                                                   \
    TINYRT_IF_SPILLED("ldr %[w1], \\sum\n"                                                         \
                      "str %[w1], [%[w0], #\\at]\n",                                               \
                      "str \\sum, [%[w0], #\\at]\n")

/** All sums of a place. */
#ifdef __clang__
#define TINYRT_KEEP_LAST                                                                           \
    "strd %[a2], %[a3], [%[w0], #8]\n"                                                             \
    "strd %[b2], %[b3], [%[w0], #24]\n"
#else
#define TINYRT_KEEP_LAST                                                                           \
    TINYRT_WITH_MACRO("tinyrt_keep", "sum, at", TINYRT_KEEP_SUM,                                   \
                      TINYRT_KEEP("a2", "8") TINYRT_KEEP("a3", "12") TINYRT_KEEP("b2", "24")       \
                          TINYRT_KEEP("b3", "28"))
#endif
#define TINYRT_KEEP_SUMS                                                                           \
    "ldr %[w0], " TINYRT_TILE_KEPT "\n" TINYRT_KEEP_LAST "strd %[b0], %[b1], [%[w0], #16]\n"       \
    "strd %[a0], %[a1], [%[w0]], #32\n"                                                            \
    "str %[w0], " TINYRT_TILE_KEPT "\n"

/** On, until all places of a run are done. */
#define TINYRT_TILE_UNTIL                                                                          \
    "ldr %[x1], " TINYRT_TILE_END_KEPT "\n"                                                        \
    "cmp %[w0], %[x1]\n"                                                                           \
    "bne 2b\n"

/** The sums of four channels of both tiles: of each column of places those of row 3, of row 1, of
 *  rows 1 and 2, and of rows 0 to 2. Those of row 1 of the first column begin with init. Requires:
 * channels is a multiple of four, and not 0. Returns the end of w. */
static TINYRT_NOINLINE const int32_t *tinyrt_tile_sums(const int32_t *w,
                                                       const tinyrt_taps_word *tiles,
                                                       int32_t channels, const int32_t *init,
                                                       int32_t *sums) {
    static const int32_t zeros[4] = {0};
    const int32_t skip = (-channels & (TINYRT_TILE_TAPS - 1)) * (TINYRT_TILE_FOUR_CODE / 4);
    const tinyrt_taps_word *end = tiles + (TINYRT_CHANNEL_TILES * channels);
    const int32_t back = (int32_t)sizeof(tinyrt_taps_word) * TINYRT_CHANNEL_TILES * channels;
    const int32_t *end_sums = sums;
    const int32_t *first = zeros;
    (void)skip;
    for (int32_t run = 0; run < 8; ++run) {
        int32_t a0 = first[0], a1 = first[1], a2 = first[2], a3 = first[3];
        first = init;
        init = zeros;
        end_sums += 8 + (16 * (run & 1));
#ifdef __clang__
        const int32_t *b3 = end_sums;
        int32_t b2 = back;
        uint32_t x0 = (uint32_t)skip, x1, w0;
        __asm volatile(TINYRT_WITH_FREE(TINYRT_SUMS_OF_TWO ", %[w], %[x], %[x0], %[x1], %[w0]",
                                        TINYRT_TILE_BEGIN "2:\n" TINYRT_TILE_PLACE TINYRT_TILE_NEXT
                                            TINYRT_KEEP_SUMS TINYRT_TILE_UNTIL TINYRT_TILE_DONE)
                       : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(end),
                         [b1] "+r"(sums), [b2] "+r"(b2), [b3] "+r"(b3), [w] "+r"(w),
                         [x] "+r"(tiles), [x0] "+r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0)
                       :
                       : "cc", "memory");
#else
        int32_t b0, b1, b2 = a2, b3 = a3;
        uint32_t x0, x1, w0, w1;
        TINYRT_OPAQUE(a2, a3);
        TINYRT_OPAQUE(b2, b3);
        __asm("mov %[b0], %[a0]\n"
              "mov %[b1], %[a1]\n" TINYRT_FIND_SPILLED("%[a2]%[a3]%[b2]%[b3]")
                  TINYRT_WITH_ADD("2:\n" TINYRT_TILE_PLACE)
                      TINYRT_TILE_NEXT TINYRT_KEEP_SUMS TINYRT_TILE_UNTIL
              : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+rm"(a2), [a3] "+rm"(a3), [b0] "=&r"(b0),
                [b1] "=&r"(b1), [b2] "+rm"(b2), [b3] "+rm"(b3), [w] "+r"(w), [x] "+r"(tiles),
                [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), [w1] "=&r"(w1), [end] "+m"(end),
                [sums] "+m"(sums)
              : [back] "m"(back), [end_sums] "m"(end_sums)TINYRT_SKIP(skip)
              : "cc", "memory");
#endif
    }
    return w;
}

#undef TINYRT_TILE_FOUR
#undef TINYRT_TILE_FOUR_SPILLED
