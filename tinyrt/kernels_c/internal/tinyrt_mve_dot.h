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
    return ((length - 1) % TINYRT_VECTOR) + 1;
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
#ifdef __clang__
    int8_t *y;
    uint32_t kept;
#endif
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

/* quad lies in the caller's frame, so that GCC takes no register for it. clang takes one for each
 * operand in memory: there, one is quad, which holds y and p0, and b is found anew for each turn.
 */
#ifdef __clang__
#define TINYRT_MVE_FIRST_OF_B "ldr %[b], [%[quad], #28]\nadd %[b], %[a]\n"
#define TINYRT_MVE_NEXT_OF_B
#define TINYRT_MVE_LOAD_QUAD(registers, member, offset)                                            \
    "ldrd " registers ", [%[quad], #" offset "]\n"
#define TINYRT_MVE_LOAD_END "ldr r8, [%[quad], #24]\n"
#define TINYRT_MVE_LOAD_LEFT "vldrw.32 q2, [%[quad], #32]\n"
#define TINYRT_MVE_BEGIN "vstr p0, [%[quad], #52]\n"
#define TINYRT_MVE_Y "%[w]"
#define TINYRT_MVE_LOAD_Y "ldr %[w], [%[quad], #48]\n"
#define TINYRT_MVE_STORE_Y "str %[w], [%[quad], #48]\n"
#define TINYRT_MVE_END "vldr p0, [%[quad], #52]\n"
#define TINYRT_MVE_OPERANDS                                                                        \
    [a] "+r"(a), [b] "=&r"(b), [w] "=&l"(w), [patch] "=&r"(patch) : [quad] "r"(quad)
#else
#define TINYRT_MVE_FIRST_OF_B
#define TINYRT_MVE_NEXT_OF_B "add %[b], r6\n"
#define TINYRT_MVE_LOAD_QUAD(registers, member, offset) "ldrd " registers ", %[quad_" member "]\n"
#define TINYRT_MVE_LOAD_END "ldr r8, %[quad_y_end]\n"
#define TINYRT_MVE_LOAD_LEFT "vldrw.32 q2, %[quad_left]\n"
#define TINYRT_MVE_BEGIN                                                                           \
    TINYRT_FIND_SPILLED("%[y]")                                                                    \
    TINYRT_IF_SPILLED("tinyrt_y .req %[w]\n", "tinyrt_y .req %[y]\n")
#define TINYRT_MVE_Y "tinyrt_y"
#define TINYRT_MVE_LOAD_Y TINYRT_FIND_SPILLED("%[y]") TINYRT_IF_SPILLED("ldr %[w], %[y]\n", "")
#define TINYRT_MVE_STORE_Y TINYRT_IF_SPILLED("str %[w], %[y]\n", "")
#define TINYRT_MVE_END ".unreq tinyrt_y\n"
#define TINYRT_MVE_OPERANDS                                                                        \
    [a] "+r"(a), [b] "+r"(b), [y] "+lm"(y), [w] "=&l"(w),                                          \
        [patch] "=&r"(patch)                                                                       \
        : "m"(*quad), [quad_patch] "m"(quad->patch), [quad_y_zp] "m"(quad->y_zp),                  \
          [quad_y_step] "m"(quad->y_step), [quad_y_end] "m"(quad->y_end), [quad_left] "m"(         \
                                                                              quad->left)
#endif

/** The first bytes of both patches, then one block where their number is odd, two, and fours. */
#define TINYRT_MVE_ALL_BLOCKS                                                                      \
    "vmsr p0, %[patch]\n"                                                                          \
    "vpstt\n"                                                                                      \
    "vldrbt.8 q0, [%[a], #-16]\n"                                                                  \
    "vldrbt.8 q1, [%[b], #-16]\n" TINYRT_MVE_MULTIPLY_4X2(                                         \
        "vmladav.s8") "lsrs %[patch], %[patch], #17\n"                                             \
                      "bcc 2f\n" TINYRT_MVE_BLOCK_4X2 "2:\n"                                       \
                      "lsrs %[patch], %[patch], #1\n"                                              \
                      "bcc 3f\n" TINYRT_MVE_BLOCK_4X2 TINYRT_MVE_BLOCK_4X2 "3:\n"                  \
                      "subs %[patch], #1\n"                                                        \
                      "bmi 5f\n"                                                                   \
                      "4:\n" TINYRT_MVE_BLOCK_4X2 TINYRT_MVE_BLOCK_4X2                             \
                          TINYRT_MVE_BLOCK_4X2 TINYRT_MVE_BLOCK_4X2 "subs %[patch], #1\n"          \
                      "bpl 4b\n"                                                                   \
                      "5:\n"

/** The sums of both patches, to q0 and q1, with the bias. */
#define TINYRT_MVE_GATHER                                                                          \
    TINYRT_MVE_SEPARATE_4X2                                                                        \
    "vmov q0[2], q0[0], r0, r4\n"                                                                  \
    "vmov q0[3], q0[1], r2, r6\n"                                                                  \
    "vmov q1[2], q1[0], r8, r12\n"                                                                 \
    "vmov q1[3], q1[1], r10, lr\n" TINYRT_MVE_DIVIDE("q0") TINYRT_MVE_DIVIDE("q1")                 \
        TINYRT_MVE_LOAD_QUAD("r0, r2", "y_zp", "8") TINYRT_MVE_LOAD_QUAD("r4, r6", "y_step", "16") \
            TINYRT_MVE_LOAD_END "vadd.i32 q0, q0, %q[bias]\n"                                      \
                                "vadd.i32 q1, q1, %q[bias]\n"

/** Where no exponent is above 0; the two patches' outputs lie side by side in 16 bits. */
#define TINYRT_MVE_REQUANT_POSITIVE                                                                \
    "vqrdmulh.s32 q0, q0, %q[mult]\n"                                                              \
    "vqrdmulh.s32 q1, q1, %q[mult]\n"                                                              \
    "vrshl.s32 q0, q0, %q[right]\n"                                                                \
    "vrshl.s32 q1, q1, %q[right]\n"                                                                \
    "vqmovnb.s32 q0, q0\n"                                                                         \
    "vqmovnt.s32 q0, q1\n"                                                                         \
    "vqadd.s16 q0, q0, r0\n"                                                                       \
    "vqmovnb.s16 q0, q0\n"                                                                         \
    "vshr.u32 q1, q0, #16\n"

/** For any exponents. The shift rounds halves up: one less for what is negative and shifted. */
#define TINYRT_MVE_REQUANT_ANY                                                                     \
    TINYRT_MVE_LOAD_LEFT                                                                           \
    "vshl.s32 q0, q0, q2\n"                                                                        \
    "vshl.s32 q1, q1, q2\n"                                                                        \
    "vqrdmulh.s32 q0, q0, %q[mult]\n"                                                              \
    "vqrdmulh.s32 q1, q1, %q[mult]\n"                                                              \
    "vand q2, q0, %q[right]\n"                                                                     \
    "vshr.s32 q2, q2, #31\n"                                                                       \
    "vqadd.s32 q0, q0, q2\n"                                                                       \
    "vand q2, q1, %q[right]\n"                                                                     \
    "vshr.s32 q2, q2, #31\n"                                                                       \
    "vqadd.s32 q1, q1, q2\n"                                                                       \
    "vrshl.s32 q0, q0, %q[right]\n"                                                                \
    "vrshl.s32 q1, q1, %q[right]\n"                                                                \
    "vadd.i32 q0, q0, r0\n"                                                                        \
    "vadd.i32 q1, q1, r0\n"                                                                        \
    "vmax.s32 q0, q0, %q[min]\n"                                                                   \
    "vmax.s32 q1, q1, %q[min]\n"                                                                   \
    "vmin.s32 q0, q0, %q[max]\n"                                                                   \
    "vmin.s32 q1, q1, %q[max]\n"

/** Outputs of patches, two a turn, until y reaches its end. a points behind the first bytes of the
 *  first patch. y may be in memory, with w standing in for it. */
static inline void tinyrt_mve_patch_pairs(tinyrt_mve_quad *quad, tinyrt_mve_channels c,
                                          const int8_t *a, int8_t *y) {
    const int8_t *b = a + quad->x_step;
    const int8_t *w;
    uint32_t patch;
#ifdef __clang__
    quad->y = y;
#else
    int32_t b0, b1, b2, b3;
    /* A compiler that may not use one of these registers says so here, not below. */
    __asm volatile("" : "=Te"(b0), "=Te"(b1), "=Te"(b2), "=Te"(b3) : : "r0", "r2", "r4", "r6");
    TINYRT_OPAQUE(y, b);
#endif
    __asm volatile(TINYRT_MVE_BEGIN
                   "1:\n" TINYRT_MVE_FIRST_OF_B TINYRT_MVE_LOAD_QUAD("%[patch], %[w]", "patch", "0")
                       TINYRT_MVE_ALL_BLOCKS TINYRT_MVE_GATHER
                   "cbnz r2, 7f\n" TINYRT_MVE_REQUANT_POSITIVE "6:\n" TINYRT_MVE_LOAD_Y
                   "add r0, " TINYRT_MVE_Y ", r4\n"
                   "vstrb.32 q0, [" TINYRT_MVE_Y "]\n"
                   "vstrb.32 q1, [r0]\n"
                   "add " TINYRT_MVE_Y ", r0, r4\n" TINYRT_MVE_STORE_Y
                   "add %[a], r6\n" TINYRT_MVE_NEXT_OF_B "cmp " TINYRT_MVE_Y ", r8\n"
                   "bne 1b\n"
                   "b 8f\n"
                   "7:\n" TINYRT_MVE_REQUANT_ANY "b 6b\n"
                   "8:\n" TINYRT_MVE_END
                   : TINYRT_MVE_OPERANDS, [bias] "w"(c.bias), [mult] "w"(c.mult),
                     [right] "w"(c.right), [min] "w"(c.act_min), [max] "w"(c.act_max)
                   : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "cc",
                     "memory" TINYRT_MVE_CLOBBERS_P0);
}

/** Lane i: the dot product of the patch with filter i. a points behind the patch's first bytes;
 *  w goes on to the next filters. */
static inline int32x4_t tinyrt_mve_next_dot(uint32_t patch, const int8_t *a, const int8_t **w) {
    const int8_t *filters = *w;
    int32x4_t sums;
    uint32_t p0;
    (void)p0;
    __asm volatile(
        TINYRT_MVE_KEEP_P0
        "vmsr p0, %[patch]\n"
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
                                                 TINYRT_MVE_RESTORE_P0
        : [sums] "=w"(sums), [patch] "+r"(patch), [a] "+r"(a), [w] "+r"(filters)TINYRT_MVE_KEPT_P0
        :
        : "r0", "r2", "r4", "r6", "lr", "q0", "q1", "cc", "memory" TINYRT_MVE_CLOBBERS_P0);
    *w = filters;
    return sums;
}

#else

#include "tinyrt_mve_dot_c.h"

#endif

/** As tinyrt_mve_next_dot, of these filters. */
static inline int32x4_t tinyrt_mve_dot(uint32_t patch, const int8_t *a, const int8_t *w) {
    return tinyrt_mve_next_dot(patch, a, &w);
}

#endif
