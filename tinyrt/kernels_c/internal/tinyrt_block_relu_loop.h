/** Blocks of four output channels over one or two columns, of layers with the output zero point
 *  -128: a source defines TINYRT_BLOCK_DOT_ONE and TINYRT_BLOCK_DOT_SPAN, functions like
 *  tinyrt_dot_one and tinyrt_dot_span, and TINYRT_WORDS_BEFORE_LAST(p), the words of weights before
 * a last block that is not whole, and includes this. */
#ifndef TINYRT_BLOCK_RELU_LOOP_H
#define TINYRT_BLOCK_RELU_LOOP_H

#include "tinyrt_block_runs.h"

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
        p->w + (last ? TINYRT_WORDS_BEFORE_LAST(p) : 0),
        p->init + (first * 4),
        p->mult + (first * p->requant_step),
        last ? 4 : p->c_out,
        last ? 1 : whole,
    };
    return run;
}

/** 2^16 times what an output is above -128, and more. */
static inline uint32_t tinyrt_relu_scaled(uint32_t sum, int32_t raise, int32_t factor,
                                          int32_t addend) {
    return (uint32_t)tinyrt_add_floored_mul((int32_t)(sum << raise), factor, addend);
}

/** The four outputs of a column, from its sums as tinyrt_dot_one leaves them; odd is the shift by
 *  which sums of 256 are raised. */
static inline void tinyrt_finish_relu(const int32_t *acc, const int32_t *k, int32_t odd,
                                      int8_t *y) {
    const uint32_t odd_0 = (uint32_t)acc[1] - (uint32_t)acc[0];
    const uint32_t odd_1 = (uint32_t)acc[3] - (uint32_t)acc[2];
    const uint32_t first = tinyrt_relu_scaled((uint32_t)acc[0], odd + 8, k[0], k[1]);
    const uint32_t second = tinyrt_relu_scaled(odd_0, odd, k[2], k[3]);
    const uint32_t third = tinyrt_relu_scaled((uint32_t)acc[2], odd + 8, k[4], k[5]);
    const uint32_t fourth = tinyrt_relu_scaled(odd_1, odd, k[6], k[7]);
    const uint32_t evens = tinyrt_limit_pair(tinyrt_high_halves(first, third));
    const uint32_t odds = tinyrt_limit_pair(tinyrt_high_halves(second, fourth));
    tinyrt_store_word(y, (evens | odds << 8) ^ 0x80808080U);
}

static TINYRT_NOINLINE void tinyrt_relu_one_column(const tinyrt_block_s8_params *p,
                                                   const tinyrt_single *column, int last,
                                                   int8_t *y) {
    const int32_t taps = p->taps;
    const int32_t step = p->requant_step;
    const int32_t odd = p->y_zp;
    tinyrt_relu_run run = tinyrt_relu_run_of(p, last);
    for (; run.blocks != 0; --run.blocks) {
        int32_t acc[4] = {run.init[0], run.init[1], run.init[2], run.init[3]};
        run.w = TINYRT_BLOCK_DOT_ONE(run.w, column, taps, acc);
        tinyrt_finish_relu(acc, run.scale, odd, y);
        run.init += 4;
        run.scale += step;
        y += 4;
    }
}

/** Left shifts of sums: of those of even channels, and of 256 times those of odd ones. */
typedef struct {
    int32_t even;
    int32_t odd;
} tinyrt_relu_shifts;

#if defined(__ARM_FEATURE_DSP) && TINYRT_ASM_LOOPS

/** Keeps a struct where assembly reads it, so that no block copies it there. */
#define TINYRT_IN_MEMORY(fields) __asm("" : "+m"(fields))

#define TINYRT_RELU_SCALED(n, offset)                                                              \
    "ldrd %[t0], %[t1], [%[k], #" offset "]\n"                                                     \
    "smmla %[a" n "], %[a" n "], %[t0], %[t1]\n"                                                   \
    "smmla %[b" n "], %[b" n "], %[t0], %[t1]\n"

/** Four outputs of a column, by tinyrt_finish_relu's steps. */
#define TINYRT_RELU_WORD(c)                                                                        \
    "pkhtb %[" c "2], %[" c "2], %[" c "0], asr #16\n"                                             \
    "pkhtb %[" c "3], %[" c "3], %[" c "1], asr #16\n"                                             \
    "usat16 %[" c "2], #8, %[" c "2]\n"                                                            \
    "usat16 %[" c "3], #8, %[" c "3]\n"                                                            \
    "orr %[" c "0], %[" c "2], %[" c "3], lsl #8\n"                                                \
    "eor %[" c "0], %[" c "0], #0x80808080\n"

/** Four outputs of each of two columns. In assembly because compilers load scales once for each
 * column. */
static inline void tinyrt_finish_relu_two(const int32_t *acc, const int32_t *k,
                                          const tinyrt_relu_shifts *raise, int8_t *y,
                                          int32_t y_step) {
    uint32_t t0, t1;
    int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    int32_t b0 = acc[4], b1 = acc[5], b2 = acc[6], b3 = acc[7];
    __asm("sub %[a1], %[a1], %[a0]\n"
          "sub %[a3], %[a3], %[a2]\n"
          "sub %[b1], %[b1], %[b0]\n"
          "sub %[b3], %[b3], %[b2]\n"
          "ldr %[t0], %[even]\n"
          "lsl %[a0], %[a0], %[t0]\n"
          "lsl %[a2], %[a2], %[t0]\n"
          "lsl %[b0], %[b0], %[t0]\n"
          "lsl %[b2], %[b2], %[t0]\n"
          "ldr %[t0], %[odd]\n"
          "lsl %[a1], %[a1], %[t0]\n"
          "lsl %[a3], %[a3], %[t0]\n"
          "lsl %[b1], %[b1], %[t0]\n"
          "lsl %[b3], %[b3], %[t0]\n" TINYRT_RELU_SCALED("0", "0") TINYRT_RELU_SCALED("1", "8")
              TINYRT_RELU_SCALED("2", "16") TINYRT_RELU_SCALED("3", "24") TINYRT_RELU_WORD("a")
                  TINYRT_RELU_WORD("b")
          : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(b0),
            [b1] "+r"(b1), [b2] "+r"(b2), [b3] "+r"(b3), [t0] "=&r"(t0), [t1] "=&r"(t1)
          : [k] "r"(k), [even] "m"(raise->even), [odd] "m"(raise->odd)
          : "cc", "memory");
    tinyrt_store_word(y, (uint32_t)a0);
    tinyrt_store_word(y + y_step, (uint32_t)b0);
}

#else

#define TINYRT_IN_MEMORY(fields) (void)(fields)

static inline void tinyrt_finish_relu_two(const int32_t *acc, const int32_t *k,
                                          const tinyrt_relu_shifts *raise, int8_t *y,
                                          int32_t y_step) {
    tinyrt_finish_relu(acc, k, raise->odd, y);
    tinyrt_finish_relu(acc + 4, k, raise->odd, y + y_step);
}

#endif

static TINYRT_NOINLINE void tinyrt_relu_two_columns(const tinyrt_block_s8_params *p,
                                                    const tinyrt_taps_word *columns, int last,
                                                    int8_t *y) {
    const int32_t step = p->requant_step;
    tinyrt_span span = tinyrt_span_of(columns, p->taps);
    tinyrt_relu_shifts raise = {p->y_zp + 8, p->y_zp};
    tinyrt_relu_run run = tinyrt_relu_run_of(p, last);
    TINYRT_IN_MEMORY(span);
    TINYRT_IN_MEMORY(raise);
    for (; run.blocks != 0; --run.blocks) {
        const int32_t *const init = run.init;
        int32_t acc[8] = {init[0], init[1], init[2], init[3], init[0], init[1], init[2], init[3]};
        run.w = TINYRT_BLOCK_DOT_SPAN(run.w, columns, &span, acc);
        tinyrt_finish_relu_two(acc, run.scale, &raise, y, run.y_step);
        run.init += 4;
        run.scale += step;
        y += 4;
    }
}

#endif
