/** A strip: sums of products of one, two or four pixels, for as many channels as vectors hold. */
#ifndef TINYRT_STRIP_H
#define TINYRT_STRIP_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_strips.h"
#include "tinyrt_vectors.h"

/** Pixels x_step apart, and where the first one's outputs go; the others' follow. */
typedef struct {
    const int8_t *x;
    int32_t x_step;
    int8_t *y;
} tinyrt_strip_pixels;

#ifdef TINYRT_VECTORS

#define TINYRT_STRIP_BEGIN(x, products, sums) "vmv.v.v " sums ", v0\n"
#define TINYRT_STRIP_ADD(x, products, sums) "vwadd.wv " sums ", " sums ", " products "\n"
#define TINYRT_STRIP_NEXT_ROW(x, products, sums) "add " x ", " x ", %[gap]\n"
#define TINYRT_STRIP_NEXT_1(x, products, sums) "addi " x ", " x ", 1\n"
#define TINYRT_STRIP_NEXT_2(x, products, sums) "addi " x ", " x ", 2\n"
#define TINYRT_STRIP_NEXT_4(x, products, sums) "addi " x ", " x ", 4\n"
/** The products of an even tap of a row, and those of the odd one behind it added to them. */
#define TINYRT_STRIP_EVEN(x, products, at)                                                         \
    "lb t0, " at "(" x ")\n"                                                                       \
    "vwmul.vx " products ", v0, t0\n"
#define TINYRT_STRIP_ODD(x, products, at)                                                          \
    "lb t0, " at "(" x ")\n"                                                                       \
    "vwmacc.vx " products ", t0, v2\n"
#define TINYRT_STRIP_EVEN_0(x, products, sums) TINYRT_STRIP_EVEN(x, products, "0")
#define TINYRT_STRIP_ODD_1(x, products, sums) TINYRT_STRIP_ODD(x, products, "1")
#define TINYRT_STRIP_EVEN_2(x, products, sums) TINYRT_STRIP_EVEN(x, products, "2")
#define TINYRT_STRIP_ODD_3(x, products, sums) TINYRT_STRIP_ODD(x, products, "3")

#define TINYRT_STRIP_LOAD_TAP(to)                                                                  \
    "vle8.v " to ", (%[w])\n"                                                                      \
    "add %[w], %[w], %[stride]\n"
#define TINYRT_STRIP_ADD_ALL(pixels, size)                                                         \
    TINYRT_##size##_HALVES pixels(TINYRT_STRIP_ADD) TINYRT_##size##_BYTES
#define TINYRT_STRIP_PAIR(pixels, size, even, odd)                                                 \
    TINYRT_STRIP_LOAD_TAP("v0")                                                                    \
    TINYRT_STRIP_LOAD_TAP("v2") pixels(even) pixels(odd) TINYRT_STRIP_ADD_ALL(pixels, size)

#define TINYRT_STRIP_START(pixels, size, registers)                                                \
    "vsetvli %[vl], %[vl], e32, " registers ", ta, ma\n"                                           \
    "csrwi vxrm, 0\n"                                                                              \
    "vle32.v v0, (%[bias])\n" pixels(TINYRT_STRIP_BEGIN) TINYRT_##size##_BYTES

/** Four taps of a row at a time. */
#define TINYRT_STRIP_FOURS(pixels, size)                                                           \
    "1:\n"                                                                                         \
    "andi t0, %[run], -4\n"                                                                        \
    "add t1, %[x0], t0\n"                                                                          \
    "beqz t0, 3f\n"                                                                                \
    "2:\n" TINYRT_STRIP_PAIR(pixels, size, TINYRT_STRIP_EVEN_0, TINYRT_STRIP_ODD_1)                \
        TINYRT_STRIP_PAIR(pixels, size, TINYRT_STRIP_EVEN_2, TINYRT_STRIP_ODD_3)                   \
            pixels(TINYRT_STRIP_NEXT_4) TINYRT_STRIP_AGAIN
#define TINYRT_STRIP_AGAIN "bne %[x0], t1, 2b\n"

/** Then two. */
#define TINYRT_STRIP_TWO(pixels, size)                                                             \
    "3:\n"                                                                                         \
    "andi t0, %[run], 2\n"                                                                         \
    "beqz t0, 4f\n" TINYRT_STRIP_PAIR(pixels, size, TINYRT_STRIP_EVEN_0, TINYRT_STRIP_ODD_1)       \
        pixels(TINYRT_STRIP_NEXT_2)

/** Then a single one. */
#define TINYRT_STRIP_LAST(pixels, size)                                                            \
    "4:\n"                                                                                         \
    "andi t0, %[run], 1\n"                                                                         \
    "beqz t0, 5f\n" TINYRT_STRIP_LOAD_TAP("v0") pixels(TINYRT_STRIP_EVEN_0)                        \
        TINYRT_STRIP_ADD_ALL(pixels, size) pixels(TINYRT_STRIP_NEXT_1)

/** On to the next row. */
#define TINYRT_STRIP_ROWS(pixels) "5:\n" pixels(TINYRT_STRIP_NEXT_ROW) TINYRT_STRIP_UNTIL
#define TINYRT_STRIP_UNTIL                                                                         \
    "addi %[rows], %[rows], -1\n"                                                                  \
    "bnez %[rows], 1b\n"

/** The sums of all taps, row by row. */
#define TINYRT_STRIP_SUMS(pixels, size, registers)                                                 \
    TINYRT_STRIP_START(pixels, size, registers)                                                    \
    TINYRT_STRIP_FOURS(pixels, size)                                                               \
    TINYRT_STRIP_TWO(pixels, size)                                                                 \
    TINYRT_STRIP_LAST(pixels, size)                                                                \
    TINYRT_STRIP_ROWS(pixels)

/** Channels [from, from + the result) of the pixels. */
#define TINYRT_STRIP(name, pixels, size, registers)                                                \
    static inline int32_t name(const tinyrt_strips *p, int32_t from, const int8_t *w,              \
                               tinyrt_strip_pixels at) {                                           \
        int32_t channels = p->c_out - from;                                                        \
        int32_t rows = p->rows;                                                                    \
        const int8_t *taps = w + from;                                                             \
        const int8_t *x1 = at.x + at.x_step;                                                       \
        const int8_t *x2 = x1 + at.x_step;                                                         \
        const int8_t *x3 = x2 + at.x_step;                                                         \
        int8_t *y = at.y + from;                                                                   \
        __asm volatile(TINYRT_STRIP_SUMS(pixels, size, registers) TINYRT_FINISH(pixels, size)      \
                       : [vl] "+r"(channels), [w] "+r"(taps), [x0] "+r"(at.x), [x1] "+r"(x1),      \
                         [x2] "+r"(x2), [x3] "+r"(x3), [rows] "+r"(rows), [y] "+r"(y)              \
                       : [bias] "r"(p->bias + from), [mult] "r"(p->mult + from),                   \
                         [shift] "r"(p->shift + from), [run] "r"(p->run), [gap] "r"(p->gap),       \
                         [stride] "r"(p->stride), [zp] "r"(p->y_zp), [low] "r"(p->act_min),        \
                         [high] "r"(p->act_max)                                                    \
                       : "t0", "t1", "memory" TINYRT_CLOBBERED);                                   \
        return channels;                                                                           \
    }

TINYRT_STRIP(tinyrt_strip_one, TINYRT_ONE_PIXEL, WIDE, "m8")
TINYRT_STRIP(tinyrt_strip_two, TINYRT_TWO_PIXELS, WIDE, "m8")
TINYRT_STRIP(tinyrt_strip_four, TINYRT_FOUR_PIXELS, NARROW, "m4")

#else

/** An output of a single pixel. */
static inline int8_t tinyrt_strip_output(const tinyrt_strips *p, int32_t c, const int8_t *w,
                                         const int8_t *x) {
    int32_t sum = p->bias[c];
    for (int32_t row = 0; row < p->rows; ++row, x += p->gap) {
        for (int32_t i = 0; i < p->run; ++i, w += p->stride) {
            sum += *x++ * w[c];
        }
    }
    return tinyrt_to_s8(tinyrt_requant(sum, p->mult[c], p->shift[c]), p->y_zp, p->act_min,
                        p->act_max);
}

static inline int32_t tinyrt_strip_of(const tinyrt_strips *p, int32_t from, const int8_t *w,
                                      tinyrt_strip_pixels at, int32_t pixels) {
    int8_t outputs[4];
    for (int32_t i = 0; i < pixels; ++i) {
        outputs[i] = tinyrt_strip_output(p, from, w, at.x + (i * at.x_step));
    }
    for (int32_t i = 0; i < pixels; ++i) {
        at.y[(i * p->stride) + from] = outputs[i];
    }
    return 1;
}

static inline int32_t tinyrt_strip_one(const tinyrt_strips *p, int32_t from, const int8_t *w,
                                       tinyrt_strip_pixels at) {
    return tinyrt_strip_of(p, from, w, at, 1);
}

static inline int32_t tinyrt_strip_two(const tinyrt_strips *p, int32_t from, const int8_t *w,
                                       tinyrt_strip_pixels at) {
    return tinyrt_strip_of(p, from, w, at, 2);
}

static inline int32_t tinyrt_strip_four(const tinyrt_strips *p, int32_t from, const int8_t *w,
                                        tinyrt_strip_pixels at) {
    return tinyrt_strip_of(p, from, w, at, 4);
}

#endif

/** Pixels that are computed together: more where channels are few. */
static inline int32_t tinyrt_strip_count(const tinyrt_strips *p, int32_t left) {
    if (left >= 4 && p->c_out <= 16) {
        return 4;
    }
    return left >= 2 ? 2 : 1;
}

/** All channels of so many pixels. */
static inline void tinyrt_strips_of(const tinyrt_strips *p, int32_t count, const int8_t *w,
                                    tinyrt_strip_pixels at) {
    for (int32_t c = 0; c < p->c_out;) {
        if (count == 4) {
            c += tinyrt_strip_four(p, c, w, at);
        } else if (count == 2) {
            c += tinyrt_strip_two(p, c, w, at);
        } else {
            c += tinyrt_strip_one(p, c, w, at);
        }
    }
}

#endif
