/** Blocks of four output channels over one or two columns, of layers with the output zero point
 *  -128: a source defines TINYRT_BLOCK_DOT_ONE and TINYRT_BLOCK_DOT_SPAN, functions like
 *  tinyrt_dot_words and tinyrt_dot_span, and includes this. */
#ifndef TINYRT_BLOCK_RELU_LOOP_H
#define TINYRT_BLOCK_RELU_LOOP_H

#include "tinyrt_block_runs.h"
#include "tinyrt_finish_relu.h"
#include "tinyrt_flexible.h"

/** A run of blocks: where their constants begin, and how far apart the outputs of two columns
 *  lie. */
typedef struct {
    const int32_t *w;
    const int32_t *init;
    const int32_t *scale;
    int32_t y_step;
    int32_t blocks;
} tinyrt_relu_run;

static inline tinyrt_relu_run tinyrt_relu_run_of(const tinyrt_block_s8_params *p, int last) {
    const int32_t whole = p->c_out >> 2;
    const int32_t first = last ? whole : 0;
    const tinyrt_relu_run run = {
        p->w + (first * p->taps), p->init + (first * 4), p->mult + (first * p->requant_step),
        last ? 4 : p->c_out,      last ? 1 : whole,
    };
    return run;
}

/** Where the next block of a column begins and ends, as in tinyrt_relu_block. */
typedef struct {
    const int32_t *w;
    const int32_t *init;
    const int32_t *scale;
    int32_t step;
    int32_t odd;
    int8_t *y;
    const int8_t *end;
} tinyrt_relu_next;

static TINYRT_NOINLINE void tinyrt_relu_one_column(const tinyrt_block_s8_params *p,
                                                   const tinyrt_single *column, int last,
                                                   int8_t *y) {
    const int32_t whole = p->c_out >> 2;
    const int32_t first = whole & -last;
    const int32_t step = p->requant_step;
    int32_t alike[6];
    tinyrt_tap_line line = tinyrt_tap_line_of(column, p->taps);
    tinyrt_relu_next next = {p->w + (first * p->taps),
                             p->init + (first * 4),
                             p->mult + (first * step),
                             step,
                             p->y_zp,
                             y,
                             y + (4 * ((whole - first) + last))};
    if ((TINYRT_SCALE_READ_ONCE != 0) && (step == 0)) {
        (void)memcpy(alike, next.scale, sizeof alike);
        next.scale = alike;
    }
    TINYRT_HELD_FOR_LINE(line);
    TINYRT_HELD_FOR_LINE(next);
    while (next.y != next.end) {
        const int32_t *const init = next.init;
        int32_t acc[4] = {init[0], init[1], init[2], init[3]};
        next.init = init + 4;
        next.w = TINYRT_BLOCK_DOT_ONE(next.w, &line, acc);
        const int32_t *const scale = next.scale;
        int8_t *const four = next.y;
        next.scale = scale + next.step;
        next.y = four + 4;
        tinyrt_finish_relu(acc, scale, next.odd, four);
    }
}

/** Where the next block of two columns begins and ends: first sums; scales, and how many entries
 * they advance by; left shifts of the sums of even channels, and of 256 times those of odd ones;
 * outputs, and how far apart those of the columns lie. */
typedef struct {
    const int32_t *init;
    const int32_t *scale;
    int32_t step;
    int32_t even;
    int32_t odd;
    int8_t *y;
    int32_t y_step;
} tinyrt_relu_block;

#if defined(__ARM_FEATURE_UNALIGNED) &&                                                            \
    ((defined(__ARM_FEATURE_DSP) && TINYRT_ASM_LOOPS) ||                                           \
     (defined(TINYRT_THUMB_ASSEMBLY) && (__ARM_ARCH_ISA_THUMB == 2)))

/* In assembly because all registers are taken between both ends of a block, and compilers move what
 * they could read from memory. clang takes a register for each operand there: it has one for all.
 */
#ifdef __clang__
#define TINYRT_RELU_ASM __asm volatile
#define TINYRT_RELU_FIELD(name) "[%[block], %[" name "]]"
#define TINYRT_RELU_AT(name) [name] "i"(offsetof(tinyrt_relu_block, name))
#define TINYRT_RELU_BEGUN
#define TINYRT_RELU_BEGINS [block] "r"(block), TINYRT_RELU_AT(init)
#define TINYRT_RELU_FINISHED
#define TINYRT_RELU_FINISHES                                                                       \
    [block] "r"(block), TINYRT_RELU_AT(scale), TINYRT_RELU_AT(step), TINYRT_RELU_AT(even),         \
        TINYRT_RELU_AT(odd), TINYRT_RELU_AT(y), TINYRT_RELU_AT(y_step)
#else
#define TINYRT_RELU_ASM __asm
#define TINYRT_RELU_FIELD(name) "%[" name "]"
#define TINYRT_RELU_BEGUN , [init] "+m"(block->init)
#define TINYRT_RELU_BEGINS
#define TINYRT_RELU_FINISHED , [scale] "+m"(block->scale), [y] "+m"(block->y)
#define TINYRT_RELU_FINISHES                                                                       \
    [even] "m"(block->even), [odd] "m"(block->odd), [step] "m"(block->step),                       \
        [y_step] "m"(block->y_step)
#endif

/** The first sums of two columns, which are the same. */
static inline void tinyrt_begin_two(tinyrt_relu_block *block, int32_t *acc) {
    int32_t a0, a1, a2, a3, b0, b1, b2, b3;
    TINYRT_RELU_ASM(
        "ldr %[a1], " TINYRT_RELU_FIELD("init") "\n"
                                                "ldrd %[b0], %[b1], [%[a1]]\n"
                                                "ldrd %[a2], %[a3], [%[a1], #8]\n"
                                                "ldrd %[b2], %[b3], [%[a1], #8]\n"
                                                "add %[a0], %[a1], #16\n"
                                                "str %[a0], " TINYRT_RELU_FIELD(
                                                    "init") "\n"
                                                            "ldrd %[a0], %[a1], [%[a1]]\n"
        : [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3), [b0] "=&r"(b0),
          [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3)TINYRT_RELU_BEGUN:TINYRT_RELU_BEGINS
        : "memory");
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
    acc[4] = b0, acc[5] = b1, acc[6] = b2, acc[7] = b3;
}

#define TINYRT_RELU_RAISED(c, pair)                                                                \
    "lsl %[a" c "], %[a" c "], %[t0]\n"                                                            \
    "lsl %[a" pair "], %[a" pair "], %[t0]\n"                                                      \
    "lsl %[b" c "], %[b" c "], %[t0]\n"                                                            \
    "lsl %[b" pair "], %[b" pair "], %[t0]\n"

/* The factor of the first of two channels with the addend of both, and that of the second one. */
#define TINYRT_RELU_FIRST(offset) "ldrd %[t0], %[t1], [%[t2], #" offset "]\n"
#define TINYRT_RELU_SECOND(offset) "ldr %[t0], [%[t2], #" offset "]\n"

/* Words of outputs by tinyrt_finish_relu's steps. */
#ifdef __ARM_FEATURE_DSP

#define TINYRT_RELU_DECLARE ((void)0)
#define TINYRT_RELU_TEMPORARY

#define TINYRT_RELU_SCALED(c)                                                                      \
    "smmla %[a" c "], %[a" c "], %[t0], %[t1]\n"                                                   \
    "smmla %[b" c "], %[b" c "], %[t0], %[t1]\n"

#define TINYRT_RELU_WORD(x)                                                                        \
    "pkhtb %[" x "2], %[" x "2], %[" x "0], asr #16\n"                                             \
    "pkhtb %[" x "3], %[" x "3], %[" x "1], asr #16\n"                                             \
    "usat16 %[" x "2], #8, %[" x "2]\n"                                                            \
    "usat16 %[" x "3], #8, %[" x "3]\n"                                                            \
    "orr %[" x "0], %[" x "2], %[" x "3], lsl #8\n"                                                \
    "eor %[" x "0], %[" x "0], #0x80808080\n"

#else

#define TINYRT_RELU_DECLARE uint32_t t3
#define TINYRT_RELU_TEMPORARY , [t3] "=&r"(t3)

#define TINYRT_RELU_LIMITED(x, c)                                                                  \
    "smull %[t3], %[" x c "], %[" x c "], %[t0]\n"                                                 \
    "add %[" x c "], %[" x c "], %[t1]\n"                                                          \
    "usat %[" x c "], #8, %[" x c "], asr #16\n"

#define TINYRT_RELU_SCALED(c) TINYRT_RELU_LIMITED("a", c) TINYRT_RELU_LIMITED("b", c)

#define TINYRT_RELU_WORD(x)                                                                        \
    "orr %[" x "0], %[" x "0], %[" x "1], lsl #8\n"                                                \
    "orr %[" x "0], %[" x "0], %[" x "2], lsl #16\n"                                               \
    "orr %[" x "0], %[" x "0], %[" x "3], lsl #24\n"                                               \
    "eor %[" x "0], %[" x "0], #0x80808080\n"

#endif

/** Four outputs of each of two columns; block advances. */
static inline void tinyrt_finish_two(tinyrt_relu_block *block, const int32_t *acc) {
    uint32_t t0, t1, t2;
    TINYRT_RELU_DECLARE;
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    int32_t b0 = acc[4], b1 = acc[5], b2 = acc[6], b3 = acc[7];
    TINYRT_RELU_ASM(
        "sub %[a1], %[a1], %[a0]\n"
        "sub %[a3], %[a3], %[a2]\n"
        "sub %[b1], %[b1], %[b0]\n"
        "sub %[b3], %[b3], %[b2]\n"
        "ldr %[t0], " TINYRT_RELU_FIELD(
            "even") "\n"
                    "ldr %[t2], " TINYRT_RELU_FIELD("scale") "\n" TINYRT_RELU_RAISED(
                        "0",
                        "2") "ldr %[t0], " TINYRT_RELU_FIELD("odd") "\n" TINYRT_RELU_RAISED("1",
                                                                                            "3")
                        TINYRT_RELU_FIRST("0") TINYRT_RELU_SCALED("0") TINYRT_RELU_SECOND(
                            "8") TINYRT_RELU_SCALED("1") TINYRT_RELU_FIRST("12")
                            TINYRT_RELU_SCALED("2") TINYRT_RELU_SECOND("20") TINYRT_RELU_SCALED(
                                "3") TINYRT_RELU_WORD("a")
                                TINYRT_RELU_WORD("b") "ldr %[t0], " TINYRT_RELU_FIELD(
                                    "step") "\n"
                                            "ldr %[t1], " TINYRT_RELU_FIELD(
                                                "y") "\n"
                                                     "add %[t2], %[t2], %[t0], lsl #2\n"
                                                     "ldr %[t0], " TINYRT_RELU_FIELD(
                                                         "y_step") "\n"
                                                                   "str %[t2], " TINYRT_RELU_FIELD(
                                                                       "scale") "\n"
                                                                                "str %[b0], "
                                                                                "[%[t1], "
                                                                                "%[t0]]\n"
                                                                                "str %[a0], "
                                                                                "[%[t1]], "
                                                                                "#4\n"
                                                                                "str "
                                                                                "%[t1],"
                                                                                " " TINYRT_RELU_FIELD(
                                                                                    "y") "\n"
        : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(b0), [b1] "+r"(b1),
          [b2] "+r"(b2), [b3] "+r"(b3), [t0] "=&r"(t0), [t1] "=&r"(t1),
          [t2] "=&r"(t2)TINYRT_RELU_TEMPORARY TINYRT_RELU_FINISHED:TINYRT_RELU_FINISHES
        : "cc", "memory");
}

#else

static inline void tinyrt_begin_two(tinyrt_relu_block *block, int32_t *acc) {
    acc[0] = block->init[0], acc[1] = block->init[1];
    acc[2] = block->init[2], acc[3] = block->init[3];
    acc[4] = acc[0], acc[5] = acc[1], acc[6] = acc[2], acc[7] = acc[3];
    block->init += 4;
}

static inline void tinyrt_finish_two(tinyrt_relu_block *block, const int32_t *acc) {
    tinyrt_finish_relu(acc, block->scale, block->odd, block->y);
    tinyrt_finish_relu(acc + 4, block->scale, block->odd, block->y + block->y_step);
    block->scale += block->step;
    block->y += 4;
}

#endif

static TINYRT_NOINLINE void tinyrt_relu_two_columns(const tinyrt_block_s8_params *p,
                                                    const tinyrt_taps_word *columns, int last,
                                                    int8_t *y) {
    tinyrt_relu_run run = tinyrt_relu_run_of(p, last);
    const int32_t odd = p->y_zp;
    tinyrt_span span = tinyrt_span_of(columns, p->taps);
    tinyrt_relu_block block = {run.init, run.scale, p->requant_step, odd + 8, odd, y, run.y_step};
    TINYRT_IN_MEMORY(span);
    TINYRT_IN_MEMORY(block);
    for (; run.blocks != 0; --run.blocks) {
        int32_t acc[8];
        tinyrt_begin_two(&block, acc);
        run.w = TINYRT_BLOCK_DOT_SPAN(run.w, columns, &span, acc);
        tinyrt_finish_two(&block, acc);
    }
}

#endif
