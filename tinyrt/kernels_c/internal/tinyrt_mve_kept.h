/** Dot products of patches with four filters without blocks of zeros, for cores with MVE.
 *
 *  A block is 16 taps of four filters. Those that are zero are left out; of each four filters at
 *  least one block is kept. Words of four filters: how many blocks are kept behind the first one,
 *  and where the first and the last one begin, in bytes behind a patch's begin. Then of each: how
 *  many bytes behind it the next one begins, for which the last one has where the first one begins;
 *  and its weights, 16 of each filter. So steps are known a block ahead. */
#ifndef TINYRT_MVE_KEPT_H
#define TINYRT_MVE_KEPT_H

#define TINYRT_WEIGHT_BITS 8
#include "tinyrt_mve_pairs.h"

/** Words before the blocks of four filters, and of each block. */
#define TINYRT_KEPT_HEAD 3
#define TINYRT_KEPT_WORDS 17

#if TINYRT_ASM_LOOPS

/** Bytes of the code of a block for two patches. */
#define TINYRT_KEPT_BLOCK_BYTES 64

/** How the loop over pairs of patches walks. The assembly below loads w with rounding, y with
 *  y_step, x_next with a_end, a with b, and turns_end with first; clang's knows all offsets. */
typedef struct {
    const int32_t *w; /* of the first block */
    int32_t rounding;
    int8_t *y;
    int32_t y_step;
    int32_t x_next; /* from the last block of a patch to the begin of the one after the next */
    const int8_t *a_end;
    const int8_t *a;
    const int8_t *b;
    const int32_t *turns_end; /* behind the blocks that turns of four take */
    int32_t first;            /* where the first block of a patch begins */
    uint32_t entry;           /* these as in tinyrt_mve_pairs */
    uint32_t rest;
    uint32_t turns;
} tinyrt_mve_kept;

#define TINYRT_MVE_KEPT_4X2(mul)                                                                   \
    "add %[a], %[step]\n"                                                                          \
    "add %[b], %[step]\n"                                                                          \
    "ldr %[step], [%[w]], #4\n"                                                                    \
    "vldrb.8 q0, [%[a]]\n"                                                                         \
    "vldrb.8 q1, [%[b]]\n" TINYRT_MVE_MULTIPLY_4X2(mul)
#define TINYRT_MVE_KEPT_BLOCK TINYRT_MVE_KEPT_4X2("vmladava.s8")

#define TINYRT_MVE_KEPT_4X1(mul)                                                                   \
    "add %[a], %[step]\n"                                                                          \
    "ldr %[step], [%[w]], #4\n"                                                                    \
    "vldrb.8 q0, [%[a]]\n" TINYRT_MVE_FOUR(mul)

#ifdef __clang__
#define TINYRT_MVE_KEPT_OPERANDS                                                                   \
    [a] "=&r"(a), [b] "=&r"(b), [w] "=&r"(w), [step] "=&r"(step) : [pairs] "r"(kept)
#else
#define TINYRT_MVE_KEPT_OPERANDS                                                                   \
    [a] "=&r"(a), [b] "=&r"(b), [w] "=&r"(w), [step] "=&r"(step), [p_y] "+m"(kept->y),             \
        [p_entry] "+m"(kept->entry),                                                               \
        [p_rest] "+m"(kept->rest)                                                                  \
        : "m"(*kept), [p_w] "m"(kept->w), [p_next] "m"(kept->x_next), [p_a] "m"(kept->a),          \
          [p_turns] "m"(kept->turns), [p_turns_end] "m"(kept->turns_end), [p_first] "m"(           \
                                                                              kept->first)
#endif

/** All kept blocks of a pair: the first one, turns of four, and a rest. */
#define TINYRT_MVE_KEPT_BLOCKS                                                                     \
    TINYRT_MVE_KEPT_4X2("vmladav.s8")                                                              \
    "ldr pc, " TINYRT_MVE_AT(                                                                      \
        "p_entry",                                                                                 \
        "40") "\n"                                                                                 \
              ".p2align 2\n"                                                                       \
              "3:\n" TINYRT_MVE_KEPT_BLOCK TINYRT_MVE_KEPT_BLOCK                                   \
                  TINYRT_MVE_KEPT_BLOCK TINYRT_MVE_KEPT_BLOCK "ldr %[step], " TINYRT_MVE_AT(       \
                      "p_turns_end", "32") "\n"                                                    \
                                           "cmp %[w], %[step]\n"                                   \
                                           "ldr %[step], [%[w], #-68]\n"                           \
                                           "bne 3b\n"                                              \
                                           "ldr pc, " TINYRT_MVE_AT(                               \
                                               "p_rest", "44") "\n"                                \
                                                               ".p2align 2\n" TINYRT_MVE_CHAIN_OF( \
                                                                   TINYRT_MVE_KEPT_BLOCK) "5:\n"

/** The high half of twice a sum, times 1, is its sign; times 0 it is nothing. */
#define TINYRT_MVE_KEPT_OUTPUTS                                                                    \
    "vmov q0[2], q0[0], r0, r4\n"                                                                  \
    "vmov q0[3], q0[1], r2, r6\n"                                                                  \
    "vmov q1[2], q1[0], r8, r12\n"                                                                 \
    "vmov q1[3], q1[1], r10, lr\n"                                                                 \
    "ldrd %[w], r4, " TINYRT_MVE_AT("p_w", "0") "\n"                                               \
                                                "vadd.i32 q0, q0, %q[bias]\n"                      \
                                                "vadd.i32 q1, q1, %q[bias]\n"                      \
                                                "vqrdmulh.s32 q2, q0, %q[mult]\n"                  \
                                                "vqrdmulh.s32 q3, q1, %q[mult]\n"                  \
                                                "vqdmlah.s32 q2, q0, r4\n"                         \
                                                "vqdmlah.s32 q3, q1, r4\n"                         \
                                                "ldrd r0, r2, " TINYRT_MVE_AT(                     \
                                                    "p_y", "8") "\n"                               \
                                                                "vrshl.s32 q0, q2, %q[shift]\n"    \
                                                                "vrshl.s32 q1, q3, %q[shift]\n"    \
                                                                "vqmovnb.s32 q0, q0\n"             \
                                                                "vqmovnt.s32 q0, q1\n"             \
                                                                "vqadd.s16 q0, q0, %q[zp]\n"       \
                                                                "vqmovnb.s16 q0, q0\n"             \
                                                                "vstrb.32 q0, [r0]\n"              \
                                                                "add r0, r2\n"                     \
                                                                "vshr.u32 q0, q0, #16\n"           \
                                                                "vstrb.32 q0, [r0]\n"              \
                                                                "add r0, r2\n"                     \
                                                                "str r0, " TINYRT_MVE_AT("p_y",    \
                                                                                         "8") "\n"

#define TINYRT_MVE_KEPT_NEXT                                                                       \
    "ldrd r0, r2, " TINYRT_MVE_AT("p_next", "16") "\n"                                             \
                                                  "add %[a], r0\n"                                 \
                                                  "add %[b], r0\n"                                 \
                                                  "cmp %[a], r2\n"                                 \
                                                  "bne 1b\n"

/** Four channels of all pairs, whose results are narrowed: any rounding but the last. */
static inline void tinyrt_mve_kept_pairs(tinyrt_mve_kept *kept, const int32_t *scales,
                                         int32_t y_zp) {
    const int8_t *a, *b;
    const int32_t *w;
    int32_t step;
#ifndef __clang__
    int32_t b0, b1, b2, b3;
    /* As in tinyrt_mve_patch_pairs. */
    __asm volatile("" : "=Te"(b0), "=Te"(b1), "=Te"(b2), "=Te"(b3) : : "r0", "r2", "r4", "r6");
#endif
    __asm volatile(
        TINYRT_MVE_FIND_ENTRY "ldrd %[a], %[b], " TINYRT_MVE_AT(
            "p_a", "24") "\n"
                         "ldr %[w], " TINYRT_MVE_AT(
                             "p_w",
                             "0") "\n"
                                  "ldr %[step], " TINYRT_MVE_AT(
                                      "p_first",
                                      "36") "\n"
                                            "1:\n" TINYRT_MVE_KEPT_BLOCKS TINYRT_MVE_KEPT_OUTPUTS
                                                TINYRT_MVE_KEPT_NEXT
        : TINYRT_MVE_KEPT_OPERANDS, [bias] "w"(vldrwq_s32(scales)),
          [mult] "w"(vldrwq_s32(scales + 4)), [shift] "w"(vldrbq_s32((const int8_t *)(scales + 8))),
          [zp] "w"(vdupq_n_s16((int16_t)y_zp))
        : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}

/** Lane i: the dot product of the patch at a with filter i; w goes on to the next filters. */
static inline int32x4_t tinyrt_mve_kept_dot(const int8_t *a, const int32_t **w) {
    const int32_t *filters = *w;
    int32x4_t sums;
    int32_t step;
    __asm volatile(
        "ldrd lr, %[step], [%[w]], #12\n" TINYRT_MVE_KEPT_4X1(
            "vmladav.s8") "lsrs lr, lr, #1\n"
                          "bcc 1f\n" TINYRT_MVE_KEPT_4X1(
                              "vmladava.s8") "1:\n"
                                             "wls lr, lr, 3f\n"
                                             "2:\n" TINYRT_MVE_KEPT_4X1("vmladava.s8")
                                                 TINYRT_MVE_KEPT_4X1(
                                                     "vmladava.s8") "le lr, 2b\n"
                                                                    "3:\n"
                                                                    "vmov %q[sums][2], "
                                                                    "%q[sums][0], r0, r4\n"
                                                                    "vmov %q[sums][3], "
                                                                    "%q[sums][1], r2, r6\n"
        : [sums] "=w"(sums), [a] "+r"(a), [w] "+r"(filters), [step] "=&r"(step)
        :
        : "r0", "r2", "r4", "r6", "lr", "q0", "q1", "cc", "memory");
    *w = filters;
    return sums;
}

#else

static inline int32x4_t tinyrt_mve_kept_dot(const int8_t *a, const int32_t **w) {
    const int32_t *block = *w + TINYRT_KEPT_HEAD;
    int32_t left = (*w)[0], step = (*w)[1];
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    do {
        const int8_t *const filters = (const int8_t *)(block + 1);
        a += step;
        step = *block;
        const int8x16_t taps = vldrbq_s8(a);
        s0 = vmladavaq_s8(s0, taps, vldrbq_s8(filters));
        s1 = vmladavaq_s8(s1, taps, vldrbq_s8(filters + TINYRT_VECTOR));
        s2 = vmladavaq_s8(s2, taps, vldrbq_s8(filters + (2 * TINYRT_VECTOR)));
        s3 = vmladavaq_s8(s3, taps, vldrbq_s8(filters + (3 * TINYRT_VECTOR)));
        block += TINYRT_KEPT_WORDS;
    } while (left-- != 0);
    *w = block;
    const int32_t sum[4] = {s0, s1, s2, s3};
    return tinyrt_mve_separate(sum);
}

#endif

#endif
