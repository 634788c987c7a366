/** Four pixels of a depthwise layer of floats with few channels: they share weights. In assembly
 *  where there is a unit for floats, see tinyrt_float_tile.h; tinyrt_few_taps_c.h says what it
 * does. */
#ifndef TINYRT_FEW_TAPS_H
#define TINYRT_FEW_TAPS_H

#include "tinyrt_float_tile.h"

#ifdef TINYRT_FLOAT_TILE_ASM_H

/** Adds products of every tap, which these instructions take, to sums in registers. */
#define TINYRT_FEW_TAPS(sums, products)                                                            \
    __asm volatile("vldmia %[left], {" sums "}\n"                                                  \
                   "1:\n"                                                                          \
                   "mov %[left], %[columns]\n"                                                     \
                   "2:\n" products "subs %[left], %[left], #1\n"                                   \
                   "bgt 2b\n"                                                                      \
                   "add %[w], %[w], %[w_next], lsl #2\n"                                           \
                   "add %[x0], %[x0], %[x_next], lsl #2\n"                                         \
                   "add %[x1], %[x1], %[x_next], lsl #2\n"                                         \
                   "add %[x2], %[x2], %[x_next], lsl #2\n"                                         \
                   "add %[x3], %[x3], %[x_next], lsl #2\n"                                         \
                   "subs %[rows], %[rows], #1\n"                                                   \
                   "bgt 1b\n"                                                                      \
                   "vstmia %[sum], {" sums "}\n"                                                   \
                   : [x0] "+&r"(x), [x1] "+&r"(x1), [x2] "+&r"(x2), [x3] "+&r"(x3), [w] "+&r"(w),  \
                     [rows] "+&r"(rows), [left] "+&r"(left)                                        \
                   : [columns] "r"(taps->columns), [x_next] "r"(taps->x_next),                     \
                     [w_next] "r"(taps->w_next), [sum] "r"(sum)                                    \
                   : "cc", "memory", TINYRT_SUMS_OF_TILE, TINYRT_FACTORS_OF_TILE)

static inline void tinyrt_few_taps(const tinyrt_channel_taps *taps, int32_t channels,
                                   int32_t x_step, const float *x, const float *w,
                                   const float *from, float *sum) {
    const float *x1 = x + x_step;
    const float *x2 = x1 + x_step;
    const float *x3 = x2 + x_step;
    const float *left = from; /* It counts columns where the sums are in registers. */
    int32_t rows = taps->rows;
    if (channels == 1) {
        TINYRT_FEW_TAPS("s0-s3", "vldmia %[w]!, {s16}\n"
                                 "vldmia %[x0]!, {s20}\n"
                                 "vldmia %[x1]!, {s21}\n"
                                 "vldmia %[x2]!, {s22}\n"
                                 "vldmia %[x3]!, {s23}\n" //
                        TINYRT_FMA4(s0, s1, s2, s3, s16, s20, s21, s22, s23));
    } else if (channels == 2) {
        TINYRT_FEW_TAPS("s0-s7", "vldmia %[w]!, {s16-s17}\n"
                                 "vldmia %[x0]!, {s20-s21}\n"
                                 "vldmia %[x1]!, {s22-s23}\n"
                                 "vldmia %[x2]!, {s24-s25}\n"
                                 "vldmia %[x3]!, {s26-s27}\n"                //
                        TINYRT_FMA4(s0, s2, s4, s6, s16, s20, s22, s24, s26) //
                        TINYRT_FMA4(s1, s3, s5, s7, s17, s21, s23, s25, s27));
    } else if (channels == 3) {
        TINYRT_FEW_TAPS("s0-s11", "vldmia %[w]!, {s16-s18}\n"
                                  "vldmia %[x0]!, {s20-s22}\n"
                                  "vldmia %[x1]!, {s23-s25}\n"
                                  "vldmia %[x2]!, {s26-s28}\n"
                                  "vldmia %[x3]!, {s29-s31}\n"                //
                        TINYRT_FMA4(s0, s3, s6, s9, s16, s20, s23, s26, s29)  //
                        TINYRT_FMA4(s1, s4, s7, s10, s17, s21, s24, s27, s30) //
                        TINYRT_FMA4(s2, s5, s8, s11, s18, s22, s25, s28, s31));
    } else {
        TINYRT_FEW_TAPS(
            "s0-s15",
            "vldmia %[w]!, {s16-s19}\n"
            "vldmia %[x0]!, {s20-s23}\n"
            "vldmia %[x1]!, {s24-s27}\n"                                            //
            TINYRT_FMA_EACH(s0, s1, s2, s3, s20, s21, s22, s23, s16, s17, s18, s19) //
            TINYRT_FMA_EACH(s4, s5, s6, s7, s24, s25, s26, s27, s16, s17, s18, s19) //
            "vldmia %[x2]!, {s20-s23}\n"
            "vldmia %[x3]!, {s24-s27}\n"                                              //
            TINYRT_FMA_EACH(s8, s9, s10, s11, s20, s21, s22, s23, s16, s17, s18, s19) //
            TINYRT_FMA_EACH(s12, s13, s14, s15, s24, s25, s26, s27, s16, s17, s18, s19));
    }
}

static inline void tinyrt_few_of_pixel(const tinyrt_channel_taps *taps, int32_t channels,
                                       const float *x, const float *w, const float *from,
                                       float *sum) {
    if (channels == 1) {
        TINYRT_TAPS("s0",
                    "vldmia %[w], {s16}\n"
                    "vldmia %[x], {s20}\n"
                    "vfma.f32 s0, s20, s16\n",
                    0);
    } else if (channels == 2) {
        TINYRT_TAPS("s0-s1",
                    "vldmia %[w], {s16-s17}\n"
                    "vldmia %[x], {s20-s21}\n"
                    "vfma.f32 s0, s20, s16\n"
                    "vfma.f32 s1, s21, s17\n",
                    0);
    } else {
        TINYRT_TAPS("s0-s2",
                    "vldmia %[w], {s16-s18}\n"
                    "vldmia %[x], {s20-s22}\n"
                    "vfma.f32 s0, s20, s16\n"
                    "vfma.f32 s1, s21, s17\n"
                    "vfma.f32 s2, s22, s18\n",
                    0);
    }
}

#else
#include "tinyrt_few_taps_c.h"
#endif

#endif
