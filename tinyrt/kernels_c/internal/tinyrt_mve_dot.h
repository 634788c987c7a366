/** Dot products of patches with four filters, requantised, for cores with MVE.
 *
 *  A patch has first bytes (1 to 16), then full blocks of 16. The filters lie interleaved: 16
 *  weights of each of the four, the first block filled up with zeros in front. Of weights of four
 *  bits, two filters share a byte, 16 * w1 + w0: with it, a product adds 16 * s1 + s0 to a sum, and
 *  shifted left by 4 bits, 16 * s0.
 *
 *  TINYRT_WEIGHT_BITS, 4 or 8, is set where this is included. */
#ifndef TINYRT_MVE_DOT_H
#define TINYRT_MVE_DOT_H

#include "tinyrt_flexible.h"
#include "tinyrt_mve.h"

/** A patch's length, as the loops want it: the full blocks from bit 16 on, below them the lanes
 *  that the first bytes take, at the end of a vector. */
static inline uint32_t tinyrt_mve_patch(int32_t length) {
    const uint32_t blocks = (uint32_t)(length - 1) / TINYRT_VECTOR;
    const uint32_t first = (uint32_t)length - blocks * TINYRT_VECTOR;
    return (blocks << 16) | (0xFFFFU & (0xFFFFU << (TINYRT_VECTOR - first)));
}

/** Bytes before a patch's full blocks, 1 to 16. */
static inline int32_t tinyrt_mve_first_bytes(int32_t length) {
    return (length - 1) % TINYRT_VECTOR + 1;
}

/** What four output channels share, and how the loop over patches walks. The assembly below loads
 *  patch with w, y_zp with any, y_step with x_next. */
typedef struct {
    uint32_t patch;
    const int8_t *w;
    int32_t y_zp;
    int32_t any; /* 0: exponents up to 0, outputs clamped to all of int8 from y_zp on */
    int32_t y_step;
    int32_t x_next; /* 2 * x_step less the bytes of the full blocks */
    const int8_t *y_end;
    int32_t x_step;
    int32x4_t left; /* unless any is 0 */
} tinyrt_mve_quad;

/** Constants of four output channels that stay in registers. */
typedef struct {
    int32x4_t bias;
    int32x4_t mult;
    int32x4_t right;
    int32x4_t act_min;
    int32x4_t act_max;
} tinyrt_mve_channels;

#if TINYRT_ASM_LOOPS

/* Sums across a vector go to even-numbered registers: to the lower four, which no
 * option takes away, and to others ("Te"). There are eight with lr: enough for
 * four filters and two patches, but the compiler copies and spills where more than four are in use,
 * and moves lanes through memory. */

#if TINYRT_WEIGHT_BITS == 4

#define TINYRT_MVE_TWO_4X2(mul, a0, b0, a1, b1)                                                    \
    "vldrb.8 q2, [%[w]], #16\n" mul " " a1 ", q0, q2\n" mul " " b1 ", q1, q2\n"                    \
    "vshl.i8 q2, q2, #4\n" mul " " a0 ", q0, q2\n" mul " " b0 ", q1, q2\n"
#define TINYRT_MVE_MULTIPLY_4X2(mul)                                                               \
    TINYRT_MVE_TWO_4X2(mul, "r0", "r8", "r2", "r10")                                               \
    TINYRT_MVE_TWO_4X2(mul, "r4", "r12", "r6", "lr")
/** 16 times every sum, and how to take the 16 away. */
#define TINYRT_MVE_SEPARATE_A                                                                      \
    "sub r2, r2, r0, asr #4\n"                                                                     \
    "sub r6, r6, r4, asr #4\n"
#define TINYRT_MVE_SEPARATE_4X2                                                                    \
    TINYRT_MVE_SEPARATE_A                                                                          \
    "sub r10, r10, r8, asr #4\n"                                                                   \
    "sub lr, lr, r12, asr #4\n"
#define TINYRT_MVE_DIVIDE(q) "vshr.s32 " q ", " q ", #4\n"

#define TINYRT_MVE_TWO_4X1(mul, a0, a1)                                                            \
    "vldrb.8 q1, [%[w]], #16\n" mul " " a1 ", q0, q1\n"                                            \
    "vshl.i8 q1, q1, #4\n" mul " " a0 ", q0, q1\n"
#define TINYRT_MVE_MULTIPLY_4X1(mul)                                                               \
    TINYRT_MVE_TWO_4X1(mul, "r0", "r2") TINYRT_MVE_TWO_4X1(mul, "r4", "r6")

#else

#define TINYRT_MVE_MULTIPLY_4X2(mul)                                                               \
    "vldrb.8 q2, [%[w]], #16\n" mul " r0, q0, q2\n" mul " r8, q1, q2\n"                            \
    "vldrb.8 q2, [%[w]], #16\n" mul " r2, q0, q2\n" mul " r10, q1, q2\n"                           \
    "vldrb.8 q2, [%[w]], #16\n" mul " r4, q0, q2\n" mul " r12, q1, q2\n"                           \
    "vldrb.8 q2, [%[w]], #16\n" mul " r6, q0, q2\n" mul " lr, q1, q2\n"

#define TINYRT_MVE_SEPARATE_A
#define TINYRT_MVE_SEPARATE_4X2
#define TINYRT_MVE_DIVIDE(q)

#define TINYRT_MVE_MULTIPLY_4X1(mul)                                                               \
    "vldrb.8 q1, [%[w]], #16\n" mul " r0, q0, q1\n"                                                \
    "vldrb.8 q1, [%[w]], #16\n" mul " r2, q0, q1\n"                                                \
    "vldrb.8 q1, [%[w]], #16\n" mul " r4, q0, q1\n"                                                \
    "vldrb.8 q1, [%[w]], #16\n" mul " r6, q0, q1\n"

#endif

#define TINYRT_MVE_BLOCK_4X2                                                                       \
    "vldrb.8 q0, [%[a]], #16\n"                                                                    \
    "vldrb.8 q1, [%[b]], #16\n" TINYRT_MVE_MULTIPLY_4X2("vmladava.s8")

/** Outputs of patches, two a turn, until y reaches its end. a points behind the first bytes of the
 *  first patch. quad lies in the caller's frame, so that no register is taken for it; y may be in
 *  memory, with w standing in for it. */
static inline void tinyrt_mve_patch_pairs(const tinyrt_mve_quad *quad, tinyrt_mve_channels c,
                                          const int8_t *a, int8_t *y) {
    const int8_t *b = a + quad->x_step;
    const int8_t *w;
    uint32_t patch;
    int32_t b0, b1, b2, b3;
    /* A compiler that may not use one of these registers says so here, not below. */
    __asm volatile("" : "=Te"(b0), "=Te"(b1), "=Te"(b2), "=Te"(b3) : : "r0", "r2", "r4", "r6");
    TINYRT_OPAQUE(y, b);
    __asm volatile(
        TINYRT_FIND_SPILLED("%[y]") TINYRT_IF_SPILLED(
            "tinyrt_y .req %[w]\n",
            "tinyrt_y .req %[y]\n") "1:\n"
                                    "ldrd %[patch], %[w], %[quad_patch]\n"
                                    "vmsr p0, %[patch]\n"
                                    "vpstt\n"
                                    "vldrbt.8 q0, [%[a], #-16]\n"
                                    "vldrbt.8 q1, [%[b], #-16]\n" TINYRT_MVE_MULTIPLY_4X2(
                                        "vmladav.s8")
        /* One block where their number is odd, then two, then fours. */
        "lsrs %[patch], %[patch], #17\n"
        "bcc 2f\n" TINYRT_MVE_BLOCK_4X2 "2:\n"
        "lsrs %[patch], %[patch], #1\n"
        "bcc 3f\n" TINYRT_MVE_BLOCK_4X2 TINYRT_MVE_BLOCK_4X2 "3:\n"
        "subs %[patch], #1\n"
        "bmi 5f\n"
        "4:\n" TINYRT_MVE_BLOCK_4X2 TINYRT_MVE_BLOCK_4X2 TINYRT_MVE_BLOCK_4X2 TINYRT_MVE_BLOCK_4X2
        "subs %[patch], #1\n"
        "bpl 4b\n"
        "5:\n" TINYRT_MVE_SEPARATE_4X2 "vmov q0[2], q0[0], r0, r4\n"
        "vmov q0[3], q0[1], r2, r6\n"
        "vmov q1[2], q1[0], r8, r12\n"
        "vmov q1[3], q1[1], r10, lr\n" TINYRT_MVE_DIVIDE("q0") TINYRT_MVE_DIVIDE(
            "q1") "ldrd r0, r2, %[quad_y_zp]\n"
                  "ldrd r4, r6, %[quad_y_step]\n"
                  "ldr r8, %[quad_y_end]\n"
                  "vadd.i32 q0, q0, %q[bias]\n"
                  "vadd.i32 q1, q1, %q[bias]\n"
                  "cbnz r2, 7f\n"
                  "vqrdmulh.s32 q0, q0, %q[mult]\n"
                  "vqrdmulh.s32 q1, q1, %q[mult]\n"
                  "vrshl.s32 q0, q0, %q[right]\n"
                  "vrshl.s32 q1, q1, %q[right]\n"
                  /* The two patches' outputs lie side by side in 16 bits. */
                  "vqmovnb.s32 q0, q0\n"
                  "vqmovnt.s32 q0, q1\n"
                  "vqadd.s16 q0, q0, r0\n"
                  "vqmovnb.s16 q0, q0\n"
                  "vshr.u32 q1, q0, #16\n"
                  "6:\n" TINYRT_FIND_SPILLED("%[y]") TINYRT_IF_SPILLED(
                      "ldr %[w], %[y]\n", "") "add r0, tinyrt_y, r4\n"
                                              "vstrb.32 q0, [tinyrt_y]\n"
                                              "vstrb.32 q1, [r0]\n"
                                              "add tinyrt_y, r0, r4\n" TINYRT_IF_SPILLED(
                                                  "str %[w], %[y]\n",
                                                  "") "add %[a], r6\n"
                                                      "add %[b], r6\n"
                                                      "cmp tinyrt_y, r8\n"
                                                      "bne 1b\n"
                                                      "b 8f\n"
                                                      "7:\n"
                                                      "vldrw.32 q2, %[quad_left]\n"
                                                      "vshl.s32 q0, q0, q2\n"
                                                      "vshl.s32 q1, q1, q2\n"
                                                      "vqrdmulh.s32 q0, q0, %q[mult]\n"
                                                      "vqrdmulh.s32 q1, q1, %q[mult]\n"
                                                      /* The shift rounds halves up: one less
                                                         for what is negative and shifted. */
                                                      "vand q2, q0, %q[right]\n"
                                                      "vshr.s32 q2, q2, #31\n"
                                                      "vqadd.s32 q0, q0, q2\n"
                                                      "vand q2, q1, %q[right]\n"
                                                      "vshr.s32 q2, q2, #31\n"
                                                      "vqadd.s32 q1, q1, q2\n"
                                                      "vrshl.s32 q0, q0, %q[right]\n"
                                                      "vrshl.s32 q1, q1, %q[right]\n"
                                                      "vadd.i32 q0, q0, r0\n"
                                                      "vadd.i32 q1, q1, r0\n"
                                                      "vmax.s32 q0, q0, %q[act_min]\n"
                                                      "vmax.s32 q1, q1, %q[act_min]\n"
                                                      "vmin.s32 q0, q0, %q[act_max]\n"
                                                      "vmin.s32 q1, q1, %q[act_max]\n"
                                                      "b 6b\n"
                                                      "8:\n"
                                                      ".unreq tinyrt_y\n"
        : [a] "+r"(a), [b] "+r"(b), [y] "+lm"(y), [w] "=&l"(w), [patch] "=&r"(patch)
        : "m"(*quad), [quad_patch] "m"(quad->patch), [quad_y_zp] "m"(quad->y_zp),
          [quad_y_step] "m"(quad->y_step), [quad_y_end] "m"(quad->y_end),
          [quad_left] "m"(quad->left), [bias] "w"(c.bias), [mult] "w"(c.mult), [right] "w"(c.right),
          [act_min] "w"(c.act_min), [act_max] "w"(c.act_max)
        : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "cc", "p0", "memory");
}

/** Lane i: the dot product of the patch with filter i. a points behind the patch's first bytes. */
static inline int32x4_t tinyrt_mve_dot(uint32_t patch, const int8_t *a, const int8_t *w) {
    int32x4_t sums;
    __asm volatile("vmsr p0, %[patch]\n"
                   "vpst\n"
                   "vldrbt.8 q0, [%[a], #-16]\n" TINYRT_MVE_MULTIPLY_4X1(
                       "vmladav.s8") "lsr %[patch], %[patch], #16\n"
                                     "wls lr, %[patch], 2f\n"
                                     "1:\n"
                                     "vldrb.8 q0, [%[a]], #16\n" TINYRT_MVE_MULTIPLY_4X1(
                                         "vmladava.s8") "le lr, 1b\n"
                                                        "2:\n" TINYRT_MVE_SEPARATE_A
                                                        "vmov %q[sums][2], %q[sums][0], r0, r4\n"
                                                        "vmov %q[sums][3], %q[sums][1], r2, "
                                                        "r6\n" TINYRT_MVE_DIVIDE("%q[sums]")
                   : [sums] "=w"(sums), [patch] "+r"(patch), [a] "+r"(a), [w] "+r"(w)
                   :
                   : "r0", "r2", "r4", "r6", "lr", "q0", "q1", "cc", "p0", "memory");
    return sums;
}

#else

/** The i-th of four filters' next block. */
static inline int8x16_t tinyrt_mve_weights(const int8_t *w, int32_t i) {
#if TINYRT_WEIGHT_BITS == 4
    const int8x16_t two = vldrbq_s8(w + (i >> 1) * TINYRT_VECTOR);
    const int8x16_t even = vshrq_n_s8(vshlq_n_s8(two, 4), 4);
    return (i & 1) == 0 ? even : vshrq_n_s8(vsubq_s8(two, even), 4);
#else
    return vldrbq_s8(w + i * TINYRT_VECTOR);
#endif
}

static inline int32x4_t tinyrt_mve_dot(uint32_t patch, const int8_t *a, const int8_t *w) {
    int32_t sums[4] = {0, 0, 0, 0};
    int8x16_t block = vldrbq_z_s8(a - TINYRT_VECTOR, (mve_pred16_t)(patch & 0xFFFFU));
    for (uint32_t left = patch >> 16;; --left) {
        for (int32_t i = 0; i < 4; ++i) {
            sums[i] = vmladavaq_s8(sums[i], block, tinyrt_mve_weights(w, i));
        }
        if (left == 0) {
            return vldrwq_s32(sums);
        }
        block = vldrbq_s8(a);
        a += TINYRT_VECTOR;
        w += TINYRT_WEIGHT_BITS / 2 * TINYRT_VECTOR;
    }
}

#endif

#if !TINYRT_ASM_LOOPS

static inline void tinyrt_mve_patch_pairs(const tinyrt_mve_quad *quad, tinyrt_mve_channels c,
                                          const int8_t *a, int8_t *y) {
    for (; y != quad->y_end; y += quad->y_step) {
        const int32x4_t acc = vaddq_s32(tinyrt_mve_dot(quad->patch, a, quad->w), c.bias);
        const int32x4_t shifted = quad->any ? vshlq_s32(acc, quad->left) : acc;
        const int32x4_t high = vqrdmulhq_s32(shifted, c.mult);
        const int32x4_t scaled = tinyrt_mve_rounding_shift_right(high, c.right);
        const int32x4_t moved = vaddq_n_s32(scaled, quad->y_zp);
        vstrbq_s32(y, vminq_s32(vmaxq_s32(moved, c.act_min), c.act_max));
        a += quad->x_step;
    }
}

#endif

#endif
