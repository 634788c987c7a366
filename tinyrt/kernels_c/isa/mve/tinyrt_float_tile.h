/** Sums of products of floats, four channels of four pixels at a time: a tile. Each sum takes its
 *  products in the order in which they lie. A vector has four channels of a pixel.
 *  tinyrt_float_tile_c.h says what each function does. */
#ifndef TINYRT_FLOAT_TILE_H
#define TINYRT_FLOAT_TILE_H

#include "tinyrt_types.h"

#define TINYRT_TILE_ROWS 4
#define TINYRT_STRIP 16

/** Of functions that call these: vectors leave all other registers for pointers. */
#define TINYRT_TILE_CALLER inline

#if (__ARM_FEATURE_MVE & 2) != 0

#include "tinyrt_channel_taps.h"
#include "tinyrt_float.h"
#include "tinyrt_mve.h"

static inline void tinyrt_quad_run(const float *x, const float *w, int32_t length, float *sum) {
    float32x4_t acc = vldrwq_f32(sum);
    for (; length > 0; --length, w += 4) {
        acc = vfmaq_n_f32(acc, vldrwq_f32(w), *x++);
    }
    vstrwq_f32(sum, acc);
}

static inline void tinyrt_quad_apart(const float *x, const float *w, int32_t w_step, int32_t length,
                                     float *sum) {
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)w_step);
    float32x4_t acc = vldrwq_f32(sum);
    for (; length > 0; --length, ++w) {
        acc = vfmaq_n_f32(acc, vldrwq_gather_shifted_offset_f32(w, places), *x++);
    }
    vstrwq_f32(sum, acc);
}

static inline void tinyrt_tile_run(const float *x, int32_t x_step, const float *w, int32_t length,
                                   float *sum) {
    const float *x1 = x + x_step;
    const float *x2 = x1 + x_step;
    const float *x3 = x2 + x_step;
    float32x4_t acc0 = vldrwq_f32(sum), acc1 = vldrwq_f32(sum + 4);
    float32x4_t acc2 = vldrwq_f32(sum + 8), acc3 = vldrwq_f32(sum + 12);
    for (; length > 0; --length, w += 4) {
        const float32x4_t weights = vldrwq_f32(w);
        acc0 = vfmaq_n_f32(acc0, weights, *x++);
        acc1 = vfmaq_n_f32(acc1, weights, *x1++);
        acc2 = vfmaq_n_f32(acc2, weights, *x2++);
        acc3 = vfmaq_n_f32(acc3, weights, *x3++);
    }
    vstrwq_f32(sum, acc0);
    vstrwq_f32(sum + 4, acc1);
    vstrwq_f32(sum + 8, acc2);
    vstrwq_f32(sum + 12, acc3);
}

static inline float tinyrt_single_run(const float *x, const float *w, int32_t length, float sum) {
    for (; length > 0; --length) {
        sum = tinyrt_mlaf(sum, *x++, *w++);
    }
    return sum;
}

static inline void tinyrt_quad_taps(const tinyrt_channel_taps *taps, const float *x, const float *w,
                                    const float *from, float *sum) {
    float32x4_t acc = vldrwq_f32(from);
    for (int32_t rows = taps->rows; rows > 0; --rows, x += taps->x_next, w += taps->w_next) {
        for (int32_t left = taps->columns; left > 0; --left) {
            acc = vfmaq_f32(acc, vldrwq_f32(x), vldrwq_f32(w));
            x += taps->x_tap;
            w += taps->w_tap;
        }
    }
    vstrwq_f32(sum, acc);
}

#if defined(TINYRT_ASM) && defined(__OPTIMIZE__)
/* Compilers keep sums on the stack where each product needs both of its factors in registers.
 * Unless they optimise, they have too few registers left. */
static inline void tinyrt_strip_taps(const tinyrt_channel_taps *taps, const float *x,
                                     const float *w, const float *from, float *sum) {
    float32x4_t acc0 = vldrwq_f32(from), acc1 = vldrwq_f32(from + 4);
    float32x4_t acc2 = vldrwq_f32(from + 8), acc3 = vldrwq_f32(from + 12);
    int32_t rows = taps->rows;
    __asm volatile(
        "1:\n"
        "dls lr, %[columns]\n"
        "2:\n"
        "vldrw.32 q4, [%[x]]\n"
        "vldrw.32 q5, [%[w]]\n"
        "vfma.f32 %q[acc0], q4, q5\n"
        "vldrw.32 q6, [%[x], #16]\n"
        "vldrw.32 q7, [%[w], #16]\n"
        "vfma.f32 %q[acc1], q6, q7\n"
        "vldrw.32 q4, [%[x], #32]\n"
        "vldrw.32 q5, [%[w], #32]\n"
        "vfma.f32 %q[acc2], q4, q5\n"
        "vldrw.32 q6, [%[x], #48]\n"
        "vldrw.32 q7, [%[w], #48]\n"
        "vfma.f32 %q[acc3], q6, q7\n"
        "add %[x], %[x], %[x_tap], lsl #2\n"
        "add %[w], %[w], %[w_tap], lsl #2\n"
        "le lr, 2b\n"
        "add %[x], %[x], %[x_next], lsl #2\n"
        "add %[w], %[w], %[w_next], lsl #2\n"
        "subs %[rows], %[rows], #1\n"
        "bgt 1b\n"
        : [x] "+&r"(x), [w] "+&r"(w), [rows] "+&r"(rows), [acc0] "+&w"(acc0), [acc1] "+&w"(acc1),
          [acc2] "+&w"(acc2), [acc3] "+&w"(acc3)
        : [columns] "r"(taps->columns), [x_tap] "r"(taps->x_tap), [w_tap] "r"(taps->w_tap),
          [x_next] "r"(taps->x_next), [w_next] "r"(taps->w_next)
        : "cc", "memory", "lr", "q4", "q5", "q6", "q7");
    vstrwq_f32(sum, acc0);
    vstrwq_f32(sum + 4, acc1);
    vstrwq_f32(sum + 8, acc2);
    vstrwq_f32(sum + 12, acc3);
}
#else
static inline void tinyrt_strip_taps(const tinyrt_channel_taps *taps, const float *x,
                                     const float *w, const float *from, float *sum) {
    for (int32_t channel = 0; channel < 16; channel += 4) {
        tinyrt_quad_taps(taps, x + channel, w + channel, from + channel, sum + channel);
    }
}
#endif

static inline void tinyrt_spread_taps(const float *x, const int32_t channels[4], int32_t x_tap,
                                      const float *w, int32_t w_tap, int32_t taps,
                                      const float *from, float *sum) {
    const float *x0 = x + channels[0];
    const float *x1 = x + channels[1];
    const float *x2 = x + channels[2];
    const float *x3 = x + channels[3];
    float32x4_t acc0 = vldrwq_f32(from), acc1 = vldrwq_f32(from + 4);
    float32x4_t acc2 = vldrwq_f32(from + 8), acc3 = vldrwq_f32(from + 12);
    for (; taps > 0; --taps, w += w_tap) {
        acc0 = vfmaq_n_f32(acc0, vldrwq_f32(w), *x0);
        acc1 = vfmaq_n_f32(acc1, vldrwq_f32(w + 4), *x1);
        acc2 = vfmaq_n_f32(acc2, vldrwq_f32(w + 8), *x2);
        acc3 = vfmaq_n_f32(acc3, vldrwq_f32(w + 12), *x3);
        x0 += x_tap;
        x1 += x_tap;
        x2 += x_tap;
        x3 += x_tap;
    }
    vstrwq_f32(sum, acc0);
    vstrwq_f32(sum + 4, acc1);
    vstrwq_f32(sum + 8, acc2);
    vstrwq_f32(sum + 12, acc3);
}

/** Four floats that are step apart: side by side for 1. */
static inline float32x4_t tinyrt_four_apart(const float *b, uint32x4_t places, int32_t step) {
    return (step == 1) ? vldrwq_f32(b) : vldrwq_gather_shifted_offset_f32(b, places);
}

static inline void tinyrt_row_product(const float *a, int32_t a_inner, const float *b,
                                      int32_t b_column, int32_t b_inner, int32_t inner,
                                      float *sum) {
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)b_column);
    float32x4_t acc = vdupq_n_f32(0.0F);
    for (; inner > 0; --inner, a += a_inner, b += b_inner) {
        acc = vfmaq_n_f32(acc, tinyrt_four_apart(b, places, b_column), *a);
    }
    vstrwq_f32(sum, acc);
}

/** Four rows of a times four columns; column_step is a constant where it is 1. */
static inline void tinyrt_tile_columns(const float *a, int32_t a_row, int32_t a_inner,
                                       const float *b, int32_t column_step, int32_t b_inner,
                                       int32_t inner, float *sum) {
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)column_step);
    const float *a1 = a + a_row;
    const float *a2 = a1 + a_row;
    const float *a3 = a2 + a_row;
    float32x4_t acc0 = vdupq_n_f32(0.0F), acc1 = acc0, acc2 = acc0, acc3 = acc0;
    for (; inner > 0; --inner, b += b_inner) {
        const float32x4_t columns = tinyrt_four_apart(b, places, column_step);
        acc0 = vfmaq_n_f32(acc0, columns, *a);
        acc1 = vfmaq_n_f32(acc1, columns, *a1);
        acc2 = vfmaq_n_f32(acc2, columns, *a2);
        acc3 = vfmaq_n_f32(acc3, columns, *a3);
        a += a_inner;
        a1 += a_inner;
        a2 += a_inner;
        a3 += a_inner;
    }
    vstrwq_f32(sum, acc0);
    vstrwq_f32(sum + 4, acc1);
    vstrwq_f32(sum + 8, acc2);
    vstrwq_f32(sum + 12, acc3);
}

static inline void tinyrt_tile_product(const float *a, int32_t a_row, int32_t a_inner,
                                       const float *b, int32_t b_column, int32_t b_inner,
                                       int32_t inner, float *sum) {
    if (b_column == 1) {
        tinyrt_tile_columns(a, a_row, a_inner, b, 1, b_inner, inner, sum);
    } else {
        tinyrt_tile_columns(a, a_row, a_inner, b, b_column, b_inner, inner, sum);
    }
}

/* By comparisons that NaN never passes: "less than" would let it through. In assembly, as compilers
 * carry what they compare through other registers. */
static inline void tinyrt_quads_finish(const float *sum, int32_t quads, float low, float high,
                                       float *y, int32_t y_step) {
    const float32x4_t least = vdupq_n_f32(low);
    const float32x4_t most = vdupq_n_f32(high);
#ifdef TINYRT_ASM
#ifdef __clang__
    uint32_t p0;
#endif
    __asm volatile(
        TINYRT_MVE_KEEP_P0 "dls lr, %[quads]\n"
                           "1:\n"
                           "vldrw.32 q0, [%[sum]], #16\n"
                           "vpt.f32 gt, %q[least], q0\n"
                           "vmovt q0, %q[least]\n"
                           "vpt.f32 gt, q0, %q[most]\n"
                           "vmovt q0, %q[most]\n"
                           "vstrw.32 q0, [%[y]]\n"
                           "add %[y], %[y], %[y_step]\n"
                           "le lr, 1b\n" TINYRT_MVE_RESTORE_P0
        : [sum] "+r"(sum), [y] "+r"(y)TINYRT_MVE_KEPT_P0
        : [quads] "r"(quads), [y_step] "r"(y_step * 4), [least] "w"(least), [most] "w"(most)
        : "cc", "memory", "lr", "q0" TINYRT_MVE_CLOBBERS_P0);
#else
    for (; quads > 0; --quads, sum += 4, y += y_step) {
        const float32x4_t value = vldrwq_f32(sum);
        const float32x4_t raised = vpselq_f32(least, value, vcmpgtq_f32(least, value));
        vstrwq_f32(y, vpselq_f32(most, raised, vcmpgtq_f32(raised, most)));
    }
#endif
}

static inline void tinyrt_quads_finish_apart(const float *sum, int32_t quads, float low, float high,
                                             float *y, int32_t y_step) {
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)y_step);
    float limited[4];
    for (; quads > 0; --quads, sum += 4, y += 4 * y_step) {
        tinyrt_quads_finish(sum, 1, low, high, limited, 4);
        vstrwq_scatter_shifted_offset_f32(y, places, vldrwq_f32(limited));
    }
}

#else
#include "tinyrt_float_tile_c.h"
#endif

#endif
