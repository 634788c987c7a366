/** Tiles of float sums in assembly, included by tinyrt_float_tile.h. s0 to s15 have the sums. */
#ifndef TINYRT_FLOAT_TILE_ASM_H
#define TINYRT_FLOAT_TILE_ASM_H

#include "tinyrt_channel_taps.h"
#include "tinyrt_float.h"
#include "tinyrt_float_finish_asm.h"
#include "tinyrt_types.h"

/** Adds x times four weights to four sums. */
#define TINYRT_FMA4(s0, s1, s2, s3, x, w0, w1, w2, w3)                                             \
    "vfma.f32 " #s0 ", " #x ", " #w0 "\n"                                                          \
    "vfma.f32 " #s1 ", " #x ", " #w1 "\n"                                                          \
    "vfma.f32 " #s2 ", " #x ", " #w2 "\n"                                                          \
    "vfma.f32 " #s3 ", " #x ", " #w3 "\n"

/** One element of four pixels, in x0 to x3, times its weights for four filters. */
#define TINYRT_FMA16(x0, x1, x2, x3, w0, w1, w2, w3)                                               \
    TINYRT_FMA4(s0, s1, s2, s3, x0, w0, w1, w2, w3)                                                \
    TINYRT_FMA4(s4, s5, s6, s7, x1, w0, w1, w2, w3)                                                \
    TINYRT_FMA4(s8, s9, s10, s11, x2, w0, w1, w2, w3)                                              \
    TINYRT_FMA4(s12, s13, s14, s15, x3, w0, w1, w2, w3)

/** Adds four products to four sums. */
#define TINYRT_FMA_EACH(s0, s1, s2, s3, x0, x1, x2, x3, w0, w1, w2, w3)                            \
    "vfma.f32 " #s0 ", " #x0 ", " #w0 "\n"                                                         \
    "vfma.f32 " #s1 ", " #x1 ", " #w1 "\n"                                                         \
    "vfma.f32 " #s2 ", " #x2 ", " #w2 "\n"                                                         \
    "vfma.f32 " #s3 ", " #x3 ", " #w3 "\n"

#define TINYRT_SUMS_OF_TILE                                                                        \
    "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", \
        "s15"
#define TINYRT_FACTORS_OF_TILE                                                                     \
    "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28",     \
        "s29", "s30", "s31"

/** Elements of a run: these instructions for what four at a time leave, which comes first, and
 *  those for four of them. */
#define TINYRT_BY_FOURS(one, four)                                                                 \
    "ands %[odd], %[length], #3\n"                                                                 \
    "beq 2f\n"                                                                                     \
    "1:\n" one "subs %[odd], %[odd], #1\n"                                                         \
    "bne 1b\n"                                                                                     \
    "2:\n"                                                                                         \
    "lsrs %[length], %[length], #2\n"                                                              \
    "beq 4f\n"                                                                                     \
    "3:\n" four "subs %[length], %[length], #1\n"                                                  \
    "bne 3b\n"                                                                                     \
    "4:\n"

/** The same, where each element is multiplied by four weights and added to four sums. */
#define TINYRT_FOUR_SUMS(one, four)                                                                \
    "vldmia %[sum], {s0-s3}\n" TINYRT_BY_FOURS(one, four) "vstmia %[sum], {s0-s3}\n"

/* An odd element comes first, so that two at a time are left. */
static inline void tinyrt_tile_run(const float *x, int32_t x_step, const float *w, int32_t length,
                                   float *sum) {
    const float *x1 = x + x_step;
    const float *x2 = x1 + x_step;
    const float *x3 = x2 + x_step;
    __asm volatile("vldmia %[sum], {s0-s15}\n"
                   "lsrs %[length], %[length], #1\n"
                   "bcc 2f\n"
                   "vldmia %[w]!, {s16-s19}\n"
                   "vldmia %[x0]!, {s20}\n"
                   "vldmia %[x1]!, {s21}\n"
                   "vldmia %[x2]!, {s22}\n"
                   "vldmia %[x3]!, {s23}\n"                             //
                   TINYRT_FMA16(s20, s21, s22, s23, s16, s17, s18, s19) //
                   "2:\n"
                   "beq 3f\n"
                   "1:\n"
                   "vldmia %[w]!, {s16-s23}\n"
                   "vldmia %[x0]!, {s24-s25}\n"
                   "vldmia %[x1]!, {s26-s27}\n"
                   "vldmia %[x2]!, {s28-s29}\n"
                   "vldmia %[x3]!, {s30-s31}\n"                         //
                   TINYRT_FMA16(s24, s26, s28, s30, s16, s17, s18, s19) //
                   TINYRT_FMA16(s25, s27, s29, s31, s20, s21, s22, s23) //
                   "subs %[length], %[length], #1\n"
                   "bne 1b\n"
                   "3:\n"
                   "vstmia %[sum], {s0-s15}\n"
                   : [x0] "+r"(x), [x1] "+r"(x1), [x2] "+r"(x2), [x3] "+r"(x3), [w] "+r"(w),
                     [length] "+r"(length)
                   : [sum] "r"(sum)
                   : "cc", "memory", TINYRT_SUMS_OF_TILE, TINYRT_FACTORS_OF_TILE);
}

static inline void tinyrt_quad_run(const float *x, const float *w, int32_t length, float *sum) {
    int32_t odd;
    __asm volatile(TINYRT_FOUR_SUMS("vldmia %[w]!, {s16-s19}\n"
                                    "vldmia %[x]!, {s8}\n" //
                                    TINYRT_FMA4(s0, s1, s2, s3, s8, s16, s17, s18, s19),
                                    "vldmia %[w]!, {s16-s31}\n"
                                    "vldmia %[x]!, {s8-s11}\n"                           //
                                    TINYRT_FMA4(s0, s1, s2, s3, s8, s16, s17, s18, s19)  //
                                    TINYRT_FMA4(s0, s1, s2, s3, s9, s20, s21, s22, s23)  //
                                    TINYRT_FMA4(s0, s1, s2, s3, s10, s24, s25, s26, s27) //
                                    TINYRT_FMA4(s0, s1, s2, s3, s11, s28, s29, s30, s31))
                   : [x] "+r"(x), [w] "+r"(w), [length] "+r"(length), [odd] "=&r"(odd)
                   : [sum] "r"(sum)
                   : "cc", "memory", "s0", "s1", "s2", "s3", "s8", "s9", "s10", "s11",
                     TINYRT_FACTORS_OF_TILE);
}

static inline void tinyrt_quad_apart(const float *x, const float *w, int32_t w_step, int32_t length,
                                     float *sum) {
    const float *w1 = w + w_step;
    const float *w2 = w1 + w_step;
    const float *w3 = w2 + w_step;
    int32_t odd;
    __asm volatile(TINYRT_FOUR_SUMS("vldmia %[x]!, {s8}\n"
                                    "vldmia %[w0]!, {s16}\n"
                                    "vldmia %[w1]!, {s17}\n"
                                    "vldmia %[w2]!, {s18}\n"
                                    "vldmia %[w3]!, {s19}\n" //
                                    TINYRT_FMA4(s0, s1, s2, s3, s8, s16, s17, s18, s19),
                                    "vldmia %[x]!, {s8-s11}\n"
                                    "vldmia %[w0]!, {s16-s19}\n"
                                    "vldmia %[w1]!, {s20-s23}\n"
                                    "vldmia %[w2]!, {s24-s27}\n"
                                    "vldmia %[w3]!, {s28-s31}\n"                         //
                                    TINYRT_FMA4(s0, s1, s2, s3, s8, s16, s20, s24, s28)  //
                                    TINYRT_FMA4(s0, s1, s2, s3, s9, s17, s21, s25, s29)  //
                                    TINYRT_FMA4(s0, s1, s2, s3, s10, s18, s22, s26, s30) //
                                    TINYRT_FMA4(s0, s1, s2, s3, s11, s19, s23, s27, s31))
                   : [x] "+&r"(x), [w0] "+&r"(w), [w1] "+&r"(w1), [w2] "+&r"(w2), [w3] "+&r"(w3),
                     [length] "+&r"(length), [odd] "=&r"(odd)
                   : [sum] "r"(sum)
                   : "cc", "memory", "s0", "s1", "s2", "s3", "s8", "s9", "s10", "s11",
                     TINYRT_FACTORS_OF_TILE);
}

static inline float tinyrt_single_run(const float *x, const float *w, int32_t length, float sum) {
    int32_t odd;
    __asm volatile(
        TINYRT_BY_FOURS("vldmia %[w]!, {s16}\n"
                        "vldmia %[x]!, {s20}\n"
                        "vfma.f32 %[sum], s20, s16\n",
                        "vldmia %[w]!, {s16-s19}\n"
                        "vldmia %[x]!, {s20-s23}\n"
                        "vfma.f32 %[sum], s20, s16\n"
                        "vfma.f32 %[sum], s21, s17\n"
                        "vfma.f32 %[sum], s22, s18\n"
                        "vfma.f32 %[sum], s23, s19\n")
        : [x] "+r"(x), [w] "+r"(w), [length] "+r"(length), [odd] "=&r"(odd), [sum] "+t"(sum)
        :
        : "cc", "memory", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23");
    return sum;
}

/** Adds products of every tap, which these instructions take, to sums in registers. */
#define TINYRT_TAPS(sums, products, beyond)                                                        \
    do {                                                                                           \
        int32_t rows = taps->rows, left;                                                           \
        __asm volatile("vldmia %[from], {" sums "}\n"                                              \
                       "1:\n"                                                                      \
                       "mov %[left], %[columns]\n"                                                 \
                       "2:\n" products "add %[w], %[w], %[w_tap], lsl #2\n"                        \
                       "add %[x], %[x], %[x_tap], lsl #2\n"                                        \
                       "subs %[left], %[left], #1\n"                                               \
                       "bgt 2b\n"                                                                  \
                       "add %[w], %[w], %[w_next], lsl #2\n"                                       \
                       "add %[x], %[x], %[x_next], lsl #2\n"                                       \
                       "subs %[rows], %[rows], #1\n"                                               \
                       "bgt 1b\n"                                                                  \
                       "vstmia %[sum], {" sums "}\n"                                               \
                       : [x] "+&r"(x), [w] "+&r"(w), [rows] "+&r"(rows), [left] "=&r"(left)        \
                       : [columns] "r"(taps->columns), [x_tap] "r"(taps->x_tap - (beyond)),        \
                         [w_tap] "r"(taps->w_tap - (beyond)), [x_next] "r"(taps->x_next),          \
                         [w_next] "r"(taps->w_next), [from] "r"(from), [sum] "r"(sum)              \
                       : "cc", "memory", TINYRT_SUMS_OF_TILE, TINYRT_FACTORS_OF_TILE);             \
    } while (0)

static inline void tinyrt_quad_taps(const tinyrt_channel_taps *taps, const float *x, const float *w,
                                    const float *from, float *sum) {
    TINYRT_TAPS("s0-s3",
                "vldmia %[w], {s16-s19}\n"
                "vldmia %[x], {s20-s23}\n" //
                TINYRT_FMA_EACH(s0, s1, s2, s3, s20, s21, s22, s23, s16, s17, s18, s19),
                0);
}

/* Halfway, x and w are eight elements beyond the tap. */
static inline void tinyrt_strip_taps(const tinyrt_channel_taps *taps, const float *x,
                                     const float *w, const float *from, float *sum) {
    TINYRT_TAPS("s0-s15",
                "vldmia %[w]!, {s16-s23}\n"
                "vldmia %[x]!, {s24-s31}\n"                                             //
                TINYRT_FMA_EACH(s0, s1, s2, s3, s24, s25, s26, s27, s16, s17, s18, s19) //
                TINYRT_FMA_EACH(s4, s5, s6, s7, s28, s29, s30, s31, s20, s21, s22, s23) //
                "vldmia %[w], {s16-s23}\n"
                "vldmia %[x], {s24-s31}\n"                                                //
                TINYRT_FMA_EACH(s8, s9, s10, s11, s24, s25, s26, s27, s16, s17, s18, s19) //
                TINYRT_FMA_EACH(s12, s13, s14, s15, s28, s29, s30, s31, s20, s21, s22, s23),
                8);
}

static inline void tinyrt_spread_taps(const float *x, const int32_t channels[4], int32_t x_tap,
                                      const float *w, int32_t w_tap, int32_t taps,
                                      const float *from, float *sum) {
    const float *x0 = x + channels[0];
    const float *x1 = x + channels[1];
    const float *x2 = x + channels[2];
    const float *x3 = x + channels[3];
    __asm volatile(
        "vldmia %[from], {s0-s15}\n"
        "1:\n"
        "vldmia %[w]!, {s16-s23}\n"
        "vldr s24, [%[x0]]\n"
        "add %[x0], %[x0], %[x_tap]\n"
        "vldr s25, [%[x1]]\n"
        "add %[x1], %[x1], %[x_tap]\n"                       //
        TINYRT_FMA4(s0, s1, s2, s3, s24, s16, s17, s18, s19) //
        TINYRT_FMA4(s4, s5, s6, s7, s25, s20, s21, s22, s23) //
        "vldmia %[w], {s16-s23}\n"
        "add %[w], %[w], %[w_tap]\n"
        "vldr s24, [%[x2]]\n"
        "add %[x2], %[x2], %[x_tap]\n"
        "vldr s25, [%[x3]]\n"
        "add %[x3], %[x3], %[x_tap]\n"                           //
        TINYRT_FMA4(s8, s9, s10, s11, s24, s16, s17, s18, s19)   //
        TINYRT_FMA4(s12, s13, s14, s15, s25, s20, s21, s22, s23) //
        "subs %[taps], %[taps], #1\n"
        "bgt 1b\n"
        "vstmia %[sum], {s0-s15}\n"
        : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [x3] "+r"(x3), [w] "+r"(w), [taps] "+r"(taps)
        : [x_tap] "r"(x_tap * 4), [w_tap] "r"((w_tap - 8) * 4), [from] "r"(from), [sum] "r"(sum)
        : "cc", "memory", TINYRT_SUMS_OF_TILE, "s16", "s17", "s18", "s19", "s20", "s21", "s22",
          "s23", "s24", "s25");
}

/** One row of a, whose elements lie anywhere, times four columns side by side. */
static inline void tinyrt_row_of_neighbours(const float *a, int32_t a_inner, const float *b,
                                            int32_t b_inner, int32_t inner, float *sum) {
    float s0 = 0.0F, s1 = 0.0F, s2 = 0.0F, s3 = 0.0F;
    __asm volatile("1:\n"
                   "vldmia %[b], {s16-s19}\n"
                   "vldr s20, [%[a]]\n"
                   "add %[b], %[b], %[b_inner]\n"
                   "add %[a], %[a], %[a_inner]\n" //
                   "vfma.f32 %[s0], s20, s16\n"
                   "vfma.f32 %[s1], s20, s17\n"
                   "vfma.f32 %[s2], s20, s18\n"
                   "vfma.f32 %[s3], s20, s19\n"
                   "subs %[inner], %[inner], #1\n"
                   "bgt 1b\n"
                   : [a] "+r"(a), [b] "+r"(b), [inner] "+r"(inner), [s0] "+t"(s0), [s1] "+t"(s1),
                     [s2] "+t"(s2), [s3] "+t"(s3)
                   : [a_inner] "r"(a_inner * 4), [b_inner] "r"(b_inner * 4)
                   : "cc", "memory", "s16", "s17", "s18", "s19", "s20");
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

static inline void tinyrt_row_product(const float *a, int32_t a_inner, const float *b,
                                      int32_t b_column, int32_t b_inner, int32_t inner,
                                      float *sum) {
    if (b_column == 1) {
        tinyrt_row_of_neighbours(a, a_inner, b, b_inner, inner, sum);
        return;
    }
    for (int32_t column = 0; column < 4; ++column, b += b_column) {
        float s = 0.0F;
        if ((a_inner == 1) && (b_inner == 1)) {
            s = tinyrt_single_run(a, b, inner, s);
        } else {
            for (int32_t i = 0; i < inner; ++i) {
                s = tinyrt_mlaf(s, a[i * a_inner], b[i * b_inner]);
            }
        }
        sum[column] = s;
    }
}

static inline void tinyrt_tile_product(const float *a, int32_t a_row, int32_t a_inner,
                                       const float *b, int32_t b_column, int32_t b_inner,
                                       int32_t inner, float *sum) {
    static const float zeros[16] = {0.0F};
    const float *at = zeros;
    __asm volatile("vldmia %[at], {s0-s15}\n"
                   "1:\n"
                   "vldr s20, [%[a]]\n"
                   "add %[at], %[a], %[a_row]\n"
                   "vldr s21, [%[at]]\n"
                   "add %[at], %[at], %[a_row]\n"
                   "vldr s22, [%[at]]\n"
                   "add %[at], %[at], %[a_row]\n"
                   "vldr s23, [%[at]]\n"
                   "add %[a], %[a], %[a_inner]\n"
                   "vldr s16, [%[b]]\n"
                   "add %[at], %[b], %[b_column]\n"
                   "vldr s17, [%[at]]\n"
                   "add %[at], %[at], %[b_column]\n"
                   "vldr s18, [%[at]]\n"
                   "add %[at], %[at], %[b_column]\n"
                   "vldr s19, [%[at]]\n"
                   "add %[b], %[b], %[b_inner]\n"                       //
                   TINYRT_FMA16(s20, s21, s22, s23, s16, s17, s18, s19) //
                   "subs %[inner], %[inner], #1\n"
                   "bgt 1b\n"
                   "vstmia %[sum], {s0-s15}\n"
                   : [a] "+r"(a), [b] "+r"(b), [inner] "+r"(inner), [at] "+r"(at)
                   : [a_row] "r"(a_row * 4), [a_inner] "r"(a_inner * 4),
                     [b_column] "r"(b_column * 4), [b_inner] "r"(b_inner * 4), [sum] "r"(sum)
                   : "cc", "memory", TINYRT_SUMS_OF_TILE, "s16", "s17", "s18", "s19", "s20", "s21",
                     "s22", "s23");
}

#endif
