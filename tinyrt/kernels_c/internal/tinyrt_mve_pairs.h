/** Outputs of pairs of patches, all channels of one pair after the other, for cores with MVE. */
#ifndef TINYRT_MVE_PAIRS_H
#define TINYRT_MVE_PAIRS_H

#include "tinyrt_mve_dot.h"
#include "tinyrt_product_types.h"

/** Blocks of taps whose code is written out, one behind the other, and the bytes of a block's. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_MVE_CHAIN 4
#else
#define TINYRT_MVE_CHAIN 8
#endif
#define TINYRT_MVE_BLOCK_BYTES 56

/** How the loop walks. The assembly below loads w with scales, rounding with scales_end, x_next
 *  with y_next, and a with b; clang's knows all offsets. */
typedef struct {
    const int8_t *w;
    const int32_t *scales;
    int32_t rounding;
    const int32_t *scales_end;
    int32_t x_next;      /* two patches on */
    int32_t y_next;      /* two outputs on, from behind the last channel */
    const int8_t *a;     /* behind the first bytes of the first patch */
    const int8_t *b;     /* of the second one */
    const int8_t *a_end; /* of the patch behind the last one */
    uint32_t patch;
    uint32_t entry; /* where the full blocks begin */
    uint32_t
        rest; /* where they go on behind turns of four: first the bytes of code that are left */
    uint32_t turns;
    uint32_t kept;
    int32_t y_zp;
    int8_t *y;
    int8_t *y_of_b;
    uint32_t p0;
} tinyrt_mve_pairs;

#if TINYRT_ASM_LOOPS

#if TINYRT_WEIGHT_BITS == 4

#define TINYRT_MVE_TWO_4X2(mul, a0, b0, a1, b1)                                                    \
    "vldrb.8 q2, [%[w]], #16\n" mul " " a1 ", q0, q2\n" mul " " b1 ", q1, q2\n"                    \
    "vshl.i8 q2, q2, #4\n" mul " " a0 ", q0, q2\n" mul " " b0 ", q1, q2\n"
#define TINYRT_MVE_MULTIPLY_4X2(mul)                                                               \
    TINYRT_MVE_TWO_4X2(mul, "r0", "r8", "r2", "r10")                                               \
    TINYRT_MVE_TWO_4X2(mul, "r4", "r12", "r6", "lr")

#else

#define TINYRT_MVE_MULTIPLY_4X2(mul)                                                               \
    "vldrb.8 q2, [%[w]], #16\n" mul " r0, q0, q2\n" mul " r8, q1, q2\n"                            \
    "vldrb.8 q2, [%[w]], #16\n" mul " r2, q0, q2\n" mul " r10, q1, q2\n"                           \
    "vldrb.8 q2, [%[w]], #16\n" mul " r4, q0, q2\n" mul " r12, q1, q2\n"                           \
    "vldrb.8 q2, [%[w]], #16\n" mul " r6, q0, q2\n" mul " lr, q1, q2\n"

#endif

#define TINYRT_MVE_BLOCK_4X2                                                                       \
    "vldrb.8 q0, [%[a]], #16\n"                                                                    \
    "vldrb.8 q1, [%[b]], #16\n" TINYRT_MVE_MULTIPLY_4X2("vmladava.s8")

/* The struct lies in the caller's frame, so that GCC takes no register for it. clang takes one for
 * each operand in memory: there, one is the struct, which holds y and p0. */
#ifdef __clang__
#define TINYRT_MVE_AT(member, offset) "[%[pairs], #" offset "]"
#define TINYRT_MVE_Y "[%[pairs], #60]"
#define TINYRT_MVE_Y_OF_B "[%[pairs], #64]"
#define TINYRT_MVE_BEGIN "vstr p0, [%[pairs], #68]\n"
#define TINYRT_MVE_END "vldr p0, [%[pairs], #68]\n"
#define TINYRT_MVE_OPERANDS                                                                        \
    [a] "=&r"(a), [b] "=&r"(b), [w] "=&r"(w), [scales] "=&l"(scales) : [pairs] "r"(pairs)
#else
#define TINYRT_MVE_AT(member, offset) "%[" member "]"
#define TINYRT_MVE_Y "%[y]"
#define TINYRT_MVE_Y_OF_B "%[y_of_b]"
#define TINYRT_MVE_BEGIN
#define TINYRT_MVE_END
#define TINYRT_MVE_OPERANDS                                                                        \
    [y] "+lm"(y), [y_of_b] "+lm"(y_of_b), [a] "=&r"(a), [b] "=&r"(b), [w] "=&r"(w),                \
        [scales] "=&l"(scales), [p_a] "+m"(pairs->a), [p_b] "+m"(pairs->b),                        \
        [p_entry] "+m"(pairs->entry), [p_rest] "+m"(pairs->rest),                                  \
        [p_kept] "=m"(pairs->kept)                                                                 \
        : "m"(*pairs), [p_w] "m"(pairs->w), [p_rounding] "m"(pairs->rounding),                     \
          [p_next] "m"(pairs->x_next), [p_a_end] "m"(pairs->a_end), [p_patch] "m"(pairs->patch),   \
          [p_turns] "m"(pairs->turns), [p_y_zp] "m"(pairs->y_zp)
#endif

/** One text or the other, by whether y is in memory. */
#ifdef __clang__
#define TINYRT_MVE_IF_SPILLED(y, spilled, otherwise) spilled
#else
#define TINYRT_MVE_IF_SPILLED(y, spilled, otherwise)                                               \
    TINYRT_FIND_SPILLED(y) TINYRT_IF_SPILLED(spilled, otherwise)
#endif

/** Four bytes to y, which goes on; r6 stands in for one in memory. */
#define TINYRT_MVE_STORE_FOUR(q, y)                                                                \
    TINYRT_MVE_IF_SPILLED(y,                                                                       \
                          "ldr r6, " y "\n"                                                        \
                          "vstrb.32 " q ", [r6], #4\n"                                             \
                          "str r6, " y "\n",                                                       \
                          "vstrb.32 " q ", [" y "], #4\n")
#define TINYRT_MVE_ADD_TO(y, step)                                                                 \
    TINYRT_MVE_IF_SPILLED(y,                                                                       \
                          "ldr r6, " y "\n"                                                        \
                          "add r6, " step "\n"                                                     \
                          "str r6, " y "\n",                                                       \
                          "add " y ", " step "\n")

#ifdef __OPTIMIZE_SIZE__
#define TINYRT_MVE_CHAIN_OF(block) block block block block
#else
#define TINYRT_MVE_CHAIN_OF(block) block block block block block block block block
#endif

/** Addresses of code, from how many bytes of it the full blocks behind turns take. */
#define TINYRT_MVE_FIND_ENTRY                                                                      \
    "adr r0, 5f\n"                                                                                 \
    "ldr r2, " TINYRT_MVE_AT(                                                                      \
        "p_rest", "44") "\n"                                                                       \
                        "sub r0, r2\n"                                                             \
                        "orr r0, #1\n"                                                             \
                        "str r0, " TINYRT_MVE_AT(                                                  \
                            "p_rest", "44") "\n"                                                   \
                                            "ldr r2, " TINYRT_MVE_AT(                              \
                                                "p_turns", "48") "\n"                              \
                                                                 "cbz r2, 0f\n"                    \
                                                                 "adr r0, 3f\n"                    \
                                                                 "orr r0, #1\n"                    \
                                                                 "0:\n"                            \
                                                                 "str r0, " TINYRT_MVE_AT(         \
                                                                     "p_entry", "40") "\n"

/** The first bytes of both patches, then full blocks: turns of four, and a rest. */
#define TINYRT_MVE_ALL_BLOCKS                                                                                                             \
    "ldrd %[a], %[b], " TINYRT_MVE_AT("p_a",                                                                                              \
                                      "24") "\n"                                                                                          \
                                            "vpstt\n"                                                                                     \
                                            "vldrbt.8 q0, [%[a], #-16]\n"                                                                 \
                                            "vldrbt.8 q1, [%[b], #-16]\n" TINYRT_MVE_MULTIPLY_4X2("vmladav.s8") "ldr pc, " TINYRT_MVE_AT( \
                                                "p_entry",                                                                                \
                                                "40") "\n"                                                                                \
                                                      ".p2align 2\n"                                                                      \
                                                      "3:\n"                                                                              \
                                                      "str %[scales], " TINYRT_MVE_AT(                                                    \
                                                          "p_kept",                                                                       \
                                                          "52") "\n"                                                                      \
                                                                "ldr %[scales], " TINYRT_MVE_AT(                                          \
                                                                    "p_turns",                                                            \
                                                                    "48") "\n"                                                            \
                                                                          "4:"                                                            \
                                                                          "\n" TINYRT_MVE_BLOCK_4X2                                       \
                                                                              TINYRT_MVE_BLOCK_4X2                                        \
                                                                                  TINYRT_MVE_BLOCK_4X2 TINYRT_MVE_BLOCK_4X2               \
                                                                          "subs %[scales], #1\n"                                          \
                                                                          "bne 4b\n"                                                      \
                                                                          "ldr "                                                          \
                                                                          "%[scales],"                                                    \
                                                                          " " TINYRT_MVE_AT(                                              \
                                                                              "p_kept",                                                   \
                                                                              "52") "\n"                                                  \
                                                                                    "ldr "                                                \
                                                                                    "pc,"                                                 \
                                                                                    " " TINYRT_MVE_AT(                                    \
                                                                                        "p_rest",                                         \
                                                                                        "44") "\n"                                        \
                                                                                              ".p"                                        \
                                                                                              "2a"                                        \
                                                                                              "li"                                        \
                                                                                              "gn"                                        \
                                                                                              " 2"                                        \
                                                                                              "\n" TINYRT_MVE_CHAIN_OF(                   \
                                                                                                  TINYRT_MVE_BLOCK_4X2) "5:\n"

/** The sums of both patches, to q0 and q1, with the bias. */
#define TINYRT_MVE_GATHER                                                                          \
    TINYRT_MVE_SEPARATE("r0", "r2", "r4", "r6")                                                    \
    TINYRT_MVE_SEPARATE("r8", "r10", "r12", "lr")                                                  \
    "vmov q0[2], q0[0], r0, r4\n"                                                                  \
    "vmov q0[3], q0[1], r2, r6\n"                                                                  \
    "vmov q1[2], q1[0], r8, r12\n"                                                                 \
    "vmov q1[3], q1[1], r10, lr\n" TINYRT_MVE_DIVIDE("q0") TINYRT_MVE_DIVIDE(                      \
        "q1") "vldrw.32 q2, [%[scales]], #16\n"                                                    \
              "ldrd r0, r2, " TINYRT_MVE_AT("p_rounding", "8") "\n"                                \
                                                               "vadd.i32 q0, q0, q2\n"             \
                                                               "vadd.i32 q1, q1, q2\n"             \
                                                               "vldrw.32 q2, [%[scales]], #16\n"

/** From q0 and q1 where the sign does not matter. */
#define TINYRT_MVE_REQUANT_POSITIVE                                                                \
    "vqrdmulh.s32 q0, q0, q2\n"                                                                    \
    "vqrdmulh.s32 q1, q1, q2\n"                                                                    \
    "vldrb.s32 q2, [%[scales]], #4\n"                                                              \
    "vrshl.s32 q0, q0, q2\n"                                                                       \
    "vrshl.s32 q1, q1, q2\n"

/** The same with one less for negative sums, as shifts round halves up: r0 is 1, so that the high
 *  half of twice the product is the sum's sign. */
#define TINYRT_MVE_REQUANT_SIGNED                                                                  \
    "vqrdmulh.s32 q4, q0, q2\n"                                                                    \
    "vqrdmulh.s32 q5, q1, q2\n"                                                                    \
    "vqdmlah.s32 q4, q0, r0\n"                                                                     \
    "vqdmlah.s32 q5, q1, r0\n"                                                                     \
    "vldrb.s32 q2, [%[scales]], #4\n"                                                              \
    "vrshl.s32 q0, q4, q2\n"                                                                       \
    "vrshl.s32 q1, q5, q2\n"

/** Both patches' outputs side by side in 16 bits, then to y. */
#define TINYRT_MVE_NARROW_PAIR                                                                     \
    "vqmovnb.s32 q0, q0\n"                                                                         \
    "vqmovnt.s32 q0, q1\n"                                                                         \
    "vqadd.s16 q0, q0, %q[zp]\n"                                                                   \
    "vqmovnb.s16 q0, q0\n" TINYRT_MVE_STORE_FOUR(                                                  \
        "q0", TINYRT_MVE_Y) "vshr.u32 q0, q0, #16\n" TINYRT_MVE_STORE_FOUR("q0",                   \
                                                                           TINYRT_MVE_Y_OF_B)

/** For any shifts and limits. */
#define TINYRT_MVE_REQUANT_ANY                                                                     \
    "vldrb.s32 q4, [%[scales]], #4\n"                                                              \
    "vmov.i32 q5, #0\n"                                                                            \
    "vmax.s32 q5, q4, q5\n"                                                                        \
    "vshl.s32 q0, q0, q5\n"                                                                        \
    "vshl.s32 q1, q1, q5\n"                                                                        \
    "vqrdmulh.s32 q0, q0, q2\n"                                                                    \
    "vqrdmulh.s32 q1, q1, q2\n"                                                                    \
    "vmov.i32 q5, #0\n"                                                                            \
    "vmin.s32 q4, q4, q5\n"                                                                        \
    "vand q5, q0, q4\n"                                                                            \
    "vshr.s32 q5, q5, #31\n"                                                                       \
    "vqadd.s32 q0, q0, q5\n"                                                                       \
    "vand q5, q1, q4\n"                                                                            \
    "vshr.s32 q5, q5, #31\n"                                                                       \
    "vqadd.s32 q1, q1, q5\n"                                                                       \
    "ldr r0, " TINYRT_MVE_AT("p_y_zp", "56") "\n"                                                  \
                                             "vrshl.s32 q0, q0, q4\n"                              \
                                             "vrshl.s32 q1, q1, q4\n"                              \
                                             "vadd.i32 q0, q0, r0\n"                               \
                                             "vadd.i32 q1, q1, r0\n"                               \
                                             "vmax.s32 q0, q0, %q[min]\n"                          \
                                             "vmax.s32 q1, q1, %q[min]\n"                          \
                                             "vmin.s32 q0, q0, %q[max]\n"                          \
                                             "vmin.s32 q1, q1, %q[max]\n" TINYRT_MVE_STORE_FOUR(   \
                                                 "q0", TINYRT_MVE_Y)                               \
                                                 TINYRT_MVE_STORE_FOUR("q1", TINYRT_MVE_Y_OF_B)

/** Goes on with the next four channels. */
#define TINYRT_MVE_NEXT_FOUR                                                                       \
    "cmp %[scales], r2\n"                                                                          \
    "bne 2b\n"

#define TINYRT_MVE_NEXT_PAIR                                                                       \
    "ldrd %[a], %[b], " TINYRT_MVE_AT(                                                             \
        "p_a",                                                                                     \
        "24") "\n"                                                                                 \
              "ldrd r0, r2, " TINYRT_MVE_AT(                                                       \
                  "p_next",                                                                        \
                  "16") "\n"                                                                       \
                        "ldr r4, " TINYRT_MVE_AT(                                                  \
                            "p_a_end",                                                             \
                            "32") "\n"                                                             \
                                  "add %[a], r0\n"                                                 \
                                  "add %[b], r0\n"                                                 \
                                  "strd %[a], %[b], " TINYRT_MVE_AT(                               \
                                      "p_a", "24") "\n" TINYRT_MVE_ADD_TO(TINYRT_MVE_Y, "r2")      \
                                      TINYRT_MVE_ADD_TO(TINYRT_MVE_Y_OF_B, "r2") "cmp %[a], r4\n"  \
                                                                                 "bne 1b\n"

/** All of an even number of patches, but for channels behind the last four. */
static inline void tinyrt_mve_patch_pairs(tinyrt_mve_pairs *pairs,
                                          const tinyrt_product_s8_params *p) {
    const int8_t *a, *b, *w;
    const int32_t *scales;
#ifndef __clang__
    int8_t *y = pairs->y;
    int8_t *y_of_b = pairs->y_of_b;
    int32_t b0, b1, b2, b3;
    /* A compiler that may not use one of these registers says so here, not below. */
    __asm volatile("" : "=Te"(b0), "=Te"(b1), "=Te"(b2), "=Te"(b3) : : "r0", "r2", "r4", "r6");
    TINYRT_OPAQUE(y, y_of_b);
#endif
    __asm volatile(
        TINYRT_MVE_BEGIN "ldr %[w], " TINYRT_MVE_AT(
            "p_patch", "36") "\n"
                             "vmsr p0, %[w]\n" TINYRT_MVE_FIND_ENTRY "1:\n"
                             "ldrd %[w], %[scales], " TINYRT_MVE_AT(
                                 "p_w", "0") "\n"
                                             "2:\n" TINYRT_MVE_ALL_BLOCKS TINYRT_MVE_GATHER
                                             "cbnz r0, 6f\n" TINYRT_MVE_REQUANT_POSITIVE
                                             "8:\n" TINYRT_MVE_NARROW_PAIR TINYRT_MVE_NEXT_FOUR
                                             "9:\n" TINYRT_MVE_NEXT_PAIR "b 0f\n"
                                             "6:\n"
                                             "lsrs r4, r0, #1\n"
                                             "bne 7f\n" TINYRT_MVE_REQUANT_SIGNED "b 8b\n"
                                             "7:\n" TINYRT_MVE_REQUANT_ANY TINYRT_MVE_NEXT_FOUR
                                             "b 9b\n"
                                             "0:\n" TINYRT_MVE_END
        : TINYRT_MVE_OPERANDS, [zp] "w"(vdupq_n_s16((int16_t)p->y_zp)),
          [min] "w"(vdupq_n_s32(p->act_min)), [max] "w"(vdupq_n_s32(p->act_max))
        : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q4", "q5", "cc",
          "memory" TINYRT_MVE_CLOBBERS_P0);
}

#else

#include "tinyrt_mve_finish.h"

/** Sums of four filters that a pair of calls left in memory. */
static inline int32x4_t tinyrt_mve_load_sums(int32_t *sum) {
#if TINYRT_WEIGHT_BITS == 4
    sum[1] -= sum[0] >> 4;
    sum[3] -= sum[2] >> 4;
    return vshrq_n_s32(vldrwq_s32(sum), 4);
#else
    return vldrwq_s32(sum);
#endif
}

/* Written out for any rounding, and for the others, as compilers inline as they see fit. */

#define TINYRT_PAIRS tinyrt_mve_any_pairs
#define TINYRT_TWO_BY_TWO tinyrt_mve_any_two_by_two
#define TINYRT_ANY_ROUNDING 1
#include "tinyrt_mve_pairs_c.h"

#define TINYRT_PAIRS tinyrt_mve_narrow_pairs
#define TINYRT_TWO_BY_TWO tinyrt_mve_narrow_two_by_two
#define TINYRT_ANY_ROUNDING 0
#include "tinyrt_mve_pairs_c.h"

static inline void tinyrt_mve_patch_pairs(const tinyrt_mve_pairs *pairs,
                                          const tinyrt_product_s8_params *p) {
    const int32_t bytes = TINYRT_MVE_FOUR_FILTERS * (1 + (int32_t)(pairs->patch >> 16));
    const tinyrt_mve_outputs outputs = tinyrt_mve_outputs_of(p);
    const int8_t *w = pairs->w;
    const int32_t *scales = pairs->scales;
    int8_t *y = pairs->y;
    for (int32_t left = p->c_out / 4; left > 0; --left) {
        if (outputs.rounding == TINYRT_ROUNDING_ANY) {
            tinyrt_mve_any_pairs(pairs, outputs, w, scales, y);
        } else {
            tinyrt_mve_narrow_pairs(pairs, outputs, w, scales, y);
        }
        w += bytes;
        scales += TINYRT_SCALE_WORDS;
        y += 4;
    }
}

#endif

#endif
