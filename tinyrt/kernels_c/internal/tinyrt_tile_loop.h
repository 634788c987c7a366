/** Sums of tiles in assembly, where this is included: TINYRT_TILE_FOUR takes four channels of a
 * place in TINYRT_TILE_FOUR_CODE bytes of code, TINYRT_TILE_FOUR_HELD where x1 and w1 are no
 * registers. Where code need not be small, a turn of the loop takes them TINYRT_TILE_FOURS times,
 * which TINYRT_TILE_REPEAT begins. TINYRT_PLACE_BYTES is the text of the bytes of a place. */

/** What the loop reads from memory, and changes there. */
typedef struct {
    const tinyrt_taps_word *end; /* of a place's inputs */
    int32_t back;                /* bytes from there to where they begin */
    int32_t *sums;               /* of the next place */
    const int32_t *column;       /* their end, where sums begin anew or with more */
    int32_t entry;               /* where the loop is entered; first how far from its beginning */
    const int32_t *init;         /* what is added to the sums after the first place; then none */
    const int32_t *last;         /* the end of all sums */
} tinyrt_tile_run;

/** The registers of the sums: those that no compiler keeps for anything else, in the order in which
 * one instruction stores them. */
#define TINYRT_TILE_SUMS "{r2, r3, r4, r5, r6, r8, r12, lr}"

/** The loop, which is entered in its middle where channels are no multiple. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_TILE_TAPS 4
#define TINYRT_TILE_LOOP TINYRT_TILE_FOUR
#else
#define TINYRT_TILE_TAPS (4 * TINYRT_TILE_FOURS)
#define TINYRT_TILE_LOOP TINYRT_TILE_REPEAT TINYRT_TILE_FOUR ".endr\n"
#endif

#ifdef __clang__
#define TINYRT_TILE_END "[sp]"
#define TINYRT_TILE_BACK "[sp, #4]"
#define TINYRT_TILE_KEPT "[sp, #8]"
#define TINYRT_TILE_COLUMN "[sp, #12]"
#define TINYRT_TILE_ENTRY "[sp, #16]"
#define TINYRT_TILE_INIT "[sp, #20]"
#define TINYRT_TILE_LAST "[sp, #24]"

/** clang takes a register for each operand in memory, so the loop has a copy on the stack. */
#define TINYRT_TILE_BEGIN                                                                          \
    "str free, [sp, #-4]!\n"                                                                       \
    "ldmia %[x0], {r2, r3, r4, r5, r6, r8, r12}\n"                                                 \
    "stmdb sp!, {r2, r3, r4, r5, r6, r8, r12}\n"
#define TINYRT_TILE_DONE                                                                           \
    "add sp, #28\n"                                                                                \
    "ldr free, [sp], #4\n"
#else
#define TINYRT_TILE_END "%[end]"
#define TINYRT_TILE_BACK "%[back]"
#define TINYRT_TILE_KEPT "%[kept]"
#define TINYRT_TILE_COLUMN "%[column]"
#define TINYRT_TILE_ENTRY "%[entry]"
#define TINYRT_TILE_INIT "%[init]"
#define TINYRT_TILE_LAST "%[last]"
#endif

#define TINYRT_TILE_ZERO                                                                           \
    "movs %[a0], #0\n"                                                                             \
    "mov %[a1], %[a0]\n"                                                                           \
    "mov %[a2], %[a0]\n"                                                                           \
    "mov %[a3], %[a0]\n"                                                                           \
    "mov %[b0], %[a0]\n"                                                                           \
    "mov %[b1], %[a0]\n"                                                                           \
    "mov %[b2], %[a0]\n"                                                                           \
    "mov %[b3], %[a0]\n"

/** Finds where the loop is entered. The loop is aligned, so that the section is, by which the
 * assembler tells how far the loop is from a word. */
#define TINYRT_TILE_ENTER                                                                          \
    "adr.w %[x0], 1f\n"                                                                            \
    "ldr %[w0], " TINYRT_TILE_ENTRY "\n"                                                           \
    "add %[x0], %[w0]\n"                                                                           \
    "str %[x0], " TINYRT_TILE_ENTRY "\n"

/** Until all channels of a place are done. */
#define TINYRT_TILE_UNTIL                                                                          \
    "ldr %[w0], " TINYRT_TILE_END "\n"                                                             \
    "cmp %[x], %[w0]\n"                                                                            \
    "bne 1b\n"

/** Keeps a place's sums, and goes on to the next one of its column. */
#define TINYRT_TILE_NEXT                                                                           \
    "ldrd %[x0], %[x1], " TINYRT_TILE_BACK "\n"                                                    \
    "add %[w0], %[w0], #" TINYRT_PLACE_BYTES "\n"                                                  \
    "str %[w0], " TINYRT_TILE_END "\n"                                                             \
    "sub %[x], %[w0], %[x0]\n"                                                                     \
    "stmia %[x1]!, " TINYRT_TILE_SUMS "\n"                                                         \
    "ldrd %[w0], " TINYRT_SECOND_WORD ", " TINYRT_TILE_COLUMN "\n"                                 \
    "cmp %[x1], %[w0]\n"                                                                           \
    "str %[x1], " TINYRT_TILE_KEPT "\n"                                                            \
    "beq 2f\n"                                                                                     \
    "bx " TINYRT_SECOND_WORD "\n"
#define TINYRT_TILE_NEXT_HELD                                                                      \
    "ldr %[x0], " TINYRT_TILE_BACK "\n"                                                            \
    "add %[w0], %[w0], #" TINYRT_PLACE_BYTES "\n"                                                  \
    "str %[w0], " TINYRT_TILE_END "\n"                                                             \
    "sub %[x], %[w0], %[x0]\n"                                                                     \
    "ldr %[x0], " TINYRT_TILE_KEPT "\n"                                                            \
    "stmia %[x0]!, " TINYRT_TILE_SUMS "\n"                                                         \
    "str %[x0], " TINYRT_TILE_KEPT "\n"                                                            \
    "ldr %[w0], " TINYRT_TILE_COLUMN "\n"                                                          \
    "cmp %[x0], %[w0]\n"                                                                           \
    "bne 1b\n"

/** Another first sum of both tiles. */
#define TINYRT_TILE_MORE(channel, at)                                                              \
    "ldr %[w0], [%[x0], #" at "]\n"                                                                \
    "add %[a" channel "], %[w0]\n"                                                                 \
    "add %[b" channel "], %[w0]\n"

/** Behind the first place, sums go on with more; at 3, where a column begins, they begin anew. */
#define TINYRT_TILE_NEXT_COLUMN                                                                    \
    "2:\n"                                                                                         \
    "ldr %[x0], " TINYRT_TILE_INIT "\n"                                                            \
    "cmp %[x0], #0\n"                                                                              \
    "beq 3f\n" TINYRT_TILE_MORE("0", "0") TINYRT_TILE_MORE("1", "4") TINYRT_TILE_MORE("2", "8")    \
        TINYRT_TILE_MORE("3", "12") "mov %[w0], #0\n"                                              \
                                    "str %[w0], " TINYRT_TILE_INIT "\n"                            \
                                    "ldr %[w0], " TINYRT_TILE_COLUMN "\n"                          \
                                    "add %[w0], %[w0], #96\n"                                      \
                                    "b 4f\n"                                                       \
                                    "3:\n"                                                         \
                                    "ldr %[w0], " TINYRT_TILE_COLUMN "\n"                          \
                                    "ldr %[x0], " TINYRT_TILE_LAST "\n"                            \
                                    "cmp %[w0], %[x0]\n"                                           \
                                    "beq 5f\n" TINYRT_TILE_ZERO "add %[w0], %[w0], #128\n"         \
                                    "4:\n"                                                         \
                                    "str %[w0], " TINYRT_TILE_COLUMN "\n"

#define TINYRT_TILE_ALL                                                                            \
    TINYRT_TILE_ENTER                                                                              \
    "b 3f\n"                                                                                       \
    ".balign 4\n"                                                                                  \
    "1:\n" TINYRT_TILE_LOOP TINYRT_TILE_UNTIL TINYRT_TILE_NEXT TINYRT_TILE_NEXT_COLUMN             \
    "ldr %[x0], " TINYRT_TILE_ENTRY "\n"                                                           \
    "bx %[x0]\n"                                                                                   \
    "5:\n"
#define TINYRT_TILE_ALL_HELD                                                                       \
    "b 3f\n"                                                                                       \
    "1:\n" TINYRT_TILE_FOUR_HELD TINYRT_TILE_UNTIL TINYRT_TILE_NEXT_HELD TINYRT_TILE_NEXT_COLUMN   \
    "b 1b\n"                                                                                       \
    "5:\n"

/** The sums of four channels of both tiles: of each column of places those of row 3, of rows 3 and
 *  1, of rows 1 to 3, and of all. Those with row 1 have init in the first column. Requires:
 *  channels is a multiple of four, and not 0. Returns the end of w. */
static TINYRT_NOINLINE const int32_t *tinyrt_tile_sums(const int32_t *w,
                                                       const tinyrt_taps_word *tiles,
                                                       int32_t channels, const int32_t *init,
                                                       int32_t *sums) {
    const int32_t skip = (-channels & (TINYRT_TILE_TAPS - 1)) * (TINYRT_TILE_FOUR_CODE / 4);
    const int32_t back = (int32_t)sizeof(tinyrt_taps_word) * TINYRT_CHANNEL_TILES * channels;
    /* The first column ends behind its first place. Addresses of code in Thumb are odd. */
    tinyrt_tile_run run = {
        tiles + (TINYRT_CHANNEL_TILES * channels),
        back,
        sums,
        sums - 24,
        skip + 1,
        init,
        sums + 128,
    };
    register int32_t a0 __asm("r2");
    register int32_t a1 __asm("r3");
    register int32_t a2 __asm("r4");
    register int32_t a3 __asm("r5");
    register int32_t b0 __asm("r6");
    register int32_t b1 __asm("r8");
    register int32_t b2 __asm("r12");
    register int32_t b3 __asm("lr");
#ifdef __clang__
    tinyrt_tile_run *x0 = &run;
    uint32_t x1, w0;
    __asm volatile(TINYRT_WITH_FREE(TINYRT_SUMS_OF_TWO ", %[w], %[x], %[x0], %[x1], %[w0]",
                                    TINYRT_TILE_BEGIN TINYRT_IF_FREE(
                                        TINYRT_TILE_ALL, TINYRT_TILE_ALL_HELD) TINYRT_TILE_DONE)
                   : [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3), [b0] "=&r"(b0),
                     [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3), [w] "+r"(w), [x] "+r"(tiles),
                     [x0] "+r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0)
                   :
                   : "cc", "memory");
#else
    uint32_t x0, x1 = 0, w0, w1 = 0;
    TINYRT_OPAQUE(x1, w1);
    __asm volatile(
        TINYRT_FIND_SPILLED("%[x1]%[w1]") TINYRT_IF_SPILLED(TINYRT_TILE_ALL_HELD, TINYRT_TILE_ALL)
        : [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3), [b0] "=&r"(b0),
          [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3), [w] "+r"(w), [x] "+r"(tiles),
          [x0] "=&r"(x0), [x1] "+rm"(x1), [w0] "=&r"(w0), [w1] "+rm"(w1), "+m"(run)
        : [end] "m"(run.end), [back] "m"(run.back), [kept] "m"(run.sums), [column] "m"(run.column),
          [entry] "m"(run.entry), [init] "m"(run.init), [last] "m"(run.last)
        : "cc", "memory");
#endif
    return w;
}

#undef TINYRT_TILE_FOUR
#undef TINYRT_TILE_FOUR_HELD
