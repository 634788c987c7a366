/** One row of a dense layer on cores with MVE, as the function TINYRT_KERNEL over weights of
 *  TINYRT_WEIGHT_BITS, which are set where this is included, with TINYRT_PRODUCT_ROW. */
#ifndef TINYRT_FULLY_CONNECTED_ROW_LOOP_H
#define TINYRT_FULLY_CONNECTED_ROW_LOOP_H

#include "tinyrt_fully_connected_mve.h"

#include "tinyrt_mve_dot.h"

#if TINYRT_ASM_LOOPS

/** How the loop over eight channels walks. The assembly below loads a with blocks, bias with y, and
 *  mult with shift; clang's knows all offsets. */
typedef struct {
    const int8_t *a; /* behind the patch's first bytes */
    uint32_t blocks;
    const int32_t *bias;
    int8_t *y;
    const int32_t *mult;
    const int8_t *shift;
    int32_t step; /* 0: one scale for all channels */
    int32_t rounding;
    int32_t y_zp;
    const int8_t *y_end;
    int32_t quad_bytes;
    uint32_t patch;
    uint32_t p0;
} tinyrt_mve_row;

#ifdef __clang__
#define TINYRT_MVE_OF(member, offset) "[%[row], #" offset "]"
#define TINYRT_MVE_ROW_BEGIN "vstr p0, [%[row], #48]\n"
#define TINYRT_MVE_ROW_END "vldr p0, [%[row], #48]\n"
#define TINYRT_MVE_ROW_OPERANDS [row] "r"(row)
#else
#define TINYRT_MVE_OF(member, offset) "%[" member "]"
#define TINYRT_MVE_ROW_BEGIN
#define TINYRT_MVE_ROW_END
#define TINYRT_MVE_ROW_OPERANDS                                                                    \
    "m"(*row), [r_a] "m"(row->a), [r_bias] "m"(row->bias), [r_mult] "m"(row->mult),                \
        [r_step] "m"(row->step), [r_rounding] "m"(row->rounding), [r_y_zp] "m"(row->y_zp),         \
        [r_y_end] "m"(row->y_end), [r_quad] "m"(row->quad_bytes), [r_patch] "m"(row->patch)
#endif

#define TINYRT_MVE_OTHER_FOUR(mul) TINYRT_MVE_MULTIPLY_4X1(mul, "%[v]", "r8", "r10", "r12", "lr")
#define TINYRT_MVE_BLOCK_8X1                                                                       \
    "vldrb.8 q0, [%[a]], #16\n" TINYRT_MVE_FOUR("vmladava.s8") TINYRT_MVE_OTHER_FOUR("vmladava."   \
                                                                                     "s8")

/** Eight sums, with the bias, in q0 and q1: first bytes, a block where their number is odd, twos.
 */
#define TINYRT_MVE_EIGHT_SUMS                                                                                                   \
    "ldrd %[a], %[t], " TINYRT_MVE_OF(                                                                                          \
        "r_a",                                                                                                                  \
        "0") "\n"                                                                                                               \
             "ldr %[v], " TINYRT_MVE_OF(                                                                                        \
                 "r_quad", "40") "\n"                                                                                           \
                                 "add %[v], %[w]\n"                                                                             \
                                 "vpst\n"                                                                                       \
                                 "vldrbt.8 q0, [%[a], #-16]\n" TINYRT_MVE_FOUR("vmladav.s8")                                    \
                                     TINYRT_MVE_OTHER_FOUR(                                                                     \
                                         "vmladav.s8") "lsrs %[t], %[t], #1\n"                                                  \
                                                       "bcc 2f\n" TINYRT_MVE_BLOCK_8X1 "2:\n"                                   \
                                                       "beq 4f\n"                                                               \
                                                       "3:"                                                                     \
                                                       "\n" TINYRT_MVE_BLOCK_8X1 TINYRT_MVE_BLOCK_8X1                           \
                                                       "subs %[t], #1\n"                                                        \
                                                       "bne 3b\n"                                                               \
                                                       "4:\n" TINYRT_MVE_SEPARATE("r0", "r2",                                   \
                                                                                  "r4", "r6")                                   \
                                                           TINYRT_MVE_SEPARATE(                                                 \
                                                               "r8", "r10", "r12",                                              \
                                                               "lr") "vmov q0[2], q0[0], r0, r4\n"                              \
                                                                     "vmov q0[3], q0[1], r2, r6\n"                              \
                                                                     "vmov q1[2], q1[0], r8, "                                  \
                                                                     "r12\n"                                                    \
                                                                     "vmov q1[3], q1[1], r10, "                                 \
                                                                     "lr\n" TINYRT_MVE_DIVIDE(                                  \
                                                                         "q0")                                                  \
                                                                         TINYRT_MVE_DIVIDE("q1") "ldrd r0, r2, " TINYRT_MVE_OF( \
                                                                             "r_bias",                                          \
                                                                             "8") "\n"                                          \
                                                                                  "ldr "                                        \
                                                                                  "r4,"                                         \
                                                                                  " " TINYRT_MVE_OF(                            \
                                                                                      "r_step",                                 \
                                                                                      "24") "\n"                                \
                                                                                            "vldr"                              \
                                                                                            "w."                                \
                                                                                            "32 "                               \
                                                                                            "q2, "                              \
                                                                                            "[r0]"                              \
                                                                                            ", "                                \
                                                                                            "#16"                               \
                                                                                            "\n"                                \
                                                                                            "vldr"                              \
                                                                                            "w."                                \
                                                                                            "32 "                               \
                                                                                            "q3, "                              \
                                                                                            "[r0]"                              \
                                                                                            ", "                                \
                                                                                            "#16"                               \
                                                                                            "\n"                                \
                                                                                            "vadd"                              \
                                                                                            ".i32"                              \
                                                                                            " q0,"                              \
                                                                                            " q0,"                              \
                                                                                            " q2"                               \
                                                                                            "\n"                                \
                                                                                            "vadd"                              \
                                                                                            ".i32"                              \
                                                                                            " q1,"                              \
                                                                                            " q1,"                              \
                                                                                            " q3"                               \
                                                                                            "\n"

/** The scales of these channels. */
#define TINYRT_MVE_EIGHT_SCALES                                                                    \
    "ldrd r4, r6, " TINYRT_MVE_OF("r_mult", "16") "\n"                                             \
                                                  "vldrw.32 %q[m0], [r4], #16\n"                   \
                                                  "vldrw.32 %q[m1], [r4], #16\n"                   \
                                                  "vldrb.s32 %q[s0], [r6], #4\n"                   \
                                                  "vldrb.s32 %q[s1], [r6], #4\n"                   \
                                                  "strd r4, r6, " TINYRT_MVE_OF("r_mult",          \
                                                                                "16") "\n"

/** The high half of twice a sum, times 1, is its sign; times 0 it is nothing. */
#define TINYRT_MVE_EIGHT_OUTPUTS                                                                   \
    "ldr r4, " TINYRT_MVE_OF(                                                                      \
        "r_rounding", "28") "\n"                                                                   \
                            "vqrdmulh.s32 q2, q0, %q[m0]\n"                                        \
                            "vqrdmulh.s32 q3, q1, %q[m1]\n"                                        \
                            "vqdmlah.s32 q2, q0, r4\n"                                             \
                            "vqdmlah.s32 q3, q1, r4\n"                                             \
                            "ldr r6, " TINYRT_MVE_OF(                                              \
                                "r_y_zp", "32") "\n"                                               \
                                                "vrshl.s32 q2, q2, %q[s0]\n"                       \
                                                "vrshl.s32 q3, q3, %q[s1]\n"                       \
                                                "vqmovnb.s32 q2, q2\n"                             \
                                                "vqmovnb.s32 q3, q3\n"                             \
                                                "vqadd.s16 q2, q2, r6\n"                           \
                                                "vqadd.s16 q3, q3, r6\n"                           \
                                                "vqmovnb.s16 q2, q2\n"                             \
                                                "vqmovnb.s16 q3, q3\n"                             \
                                                "ldr r4, " TINYRT_MVE_OF(                          \
                                                    "r_y_end",                                     \
                                                    "36") "\n"                                     \
                                                          "vstrb.32 q2, [r2], #4\n"                \
                                                          "vstrb.32 q3, [r2], #4\n"                \
                                                          "strd r0, r2, " TINYRT_MVE_OF("r_bias",  \
                                                                                        "8") "\n"

/** Outputs, eight a turn, at least one turn. */
static inline void tinyrt_mve_eights(tinyrt_mve_row *row, const int8_t *w) {
    const int8_t *a, *v;
    uint32_t t;
    int32x4_t m0 = vdupq_n_s32(*row->mult);
    int32x4_t s0 = vdupq_n_s32(*row->shift);
    int32x4_t m1 = m0;
    int32x4_t s1 = s0;
    __asm volatile(TINYRT_MVE_ROW_BEGIN "ldr %[t], " TINYRT_MVE_OF(
                       "r_patch", "44") "\n"
                                        "vmsr p0, %[t]\n"
                                        "1:\n" TINYRT_MVE_EIGHT_SUMS
                                        "cbz r4, 5f\n" TINYRT_MVE_EIGHT_SCALES
                                        "5:\n" TINYRT_MVE_EIGHT_OUTPUTS "cmp r2, r4\n"
                                        "mov %[w], %[v]\n"
                                        "bne 1b\n" TINYRT_MVE_ROW_END
                   : [w] "+r"(w), [a] "=&r"(a), [v] "=&r"(v), [t] "=&r"(t), [m0] "+w"(m0),
                     [m1] "+w"(m1), [s0] "+w"(s0), [s1] "+w"(s1)
                   : TINYRT_MVE_ROW_OPERANDS
                   : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "cc",
                     "memory" TINYRT_MVE_CLOBBERS_P0);
}

/** The first channels, an even number of fours; returns how many. */
static int32_t tinyrt_eights_first(const tinyrt_fully_connected_row_s8_params *p, const int8_t *x,
                                   const int8_t *w, const int32_t *bias, int8_t *y) {
    const tinyrt_product_s8_params *const product = &p->product;
    const uint32_t patch = tinyrt_mve_patch(product->length);
    const int32_t channels = (product->rounding == TINYRT_ROUNDING_ANY) ? 0 : (product->c_out & ~7);
    if (channels != 0) {
        tinyrt_mve_row row;
        row.a = x + tinyrt_mve_first_bytes(product->length);
        row.blocks = patch >> 16;
        row.bias = bias;
        row.y = y;
        row.mult = p->mult;
        row.shift = p->shift;
        row.step = p->step;
        row.rounding = product->rounding;
        row.y_zp = product->y_zp;
        row.y_end = y + channels;
        row.quad_bytes = TINYRT_WEIGHT_BITS / 2 * TINYRT_VECTOR * (1 + (int32_t)row.blocks);
        row.patch = patch;
        tinyrt_mve_eights(&row, w);
    }
    return channels;
}

#else

static int32_t tinyrt_eights_first(const tinyrt_fully_connected_row_s8_params *p, const int8_t *x,
                                   const int8_t *w, const int32_t *bias, const int8_t *y) {
    (void)p, (void)x, (void)w, (void)bias, (void)y;
    return 0;
}

#endif

void TINYRT_KERNEL(const tinyrt_fully_connected_row_s8_params *p, const int8_t *x, const int8_t *w,
                   const int32_t *bias, int8_t *TINYRT_RESTRICT y) {
    const int32_t done = tinyrt_eights_first(p, x, w, bias, y);
    if (done != p->product.c_out) {
        const int32_t packed = (p->product.length + TINYRT_VECTOR - 1) & ~(TINYRT_VECTOR - 1);
        const tinyrt_product_scales scales = {.bias = bias + done,
                                              .mult = p->mult + (done * p->step),
                                              .shift = p->shift + (done * p->step),
                                              .bias_step = 4,
                                              .mult_step = 4 * p->step,
                                              .shift_step = 4 * p->step};
        tinyrt_product_s8_params rest = p->product;
        rest.c_out -= done;
        TINYRT_PRODUCT_ROW(&rest, &scales, x, w + (done * packed * TINYRT_WEIGHT_BITS / 8),
                           y + done);
    }
}

#endif
