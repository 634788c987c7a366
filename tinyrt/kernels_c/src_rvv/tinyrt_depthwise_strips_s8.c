#include "tinyrt_strips.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_strip_window.h"
#include "tinyrt_vectors.h"

/** Channels [from, from + the result) of a pixel; places has each tap's distance from x. */
static inline int32_t strip(const tinyrt_strips *p, int32_t from, const int8_t *x,
                            const int32_t *places, const int8_t *w, int8_t *y) {
    const int8_t *tap = w + from;
    y += from;
#ifdef TINYRT_VECTORS
    int32_t channels = p->c_out - from;
    __asm volatile(
        "vsetvli %[vl], %[vl], e32, m8, ta, ma\n"
        "csrwi vxrm, 0\n"
        "vle32.v v16, (%[bias])\n" TINYRT_WIDE_BYTES /* Two taps at a time. */
        "andi t1, %[taps], -2\n"
        "slli t1, t1, 2\n"
        "add t2, %[place], t1\n"
        "beqz t1, 2f\n"
        "1:\n"
        "lw t0, 0(%[place])\n"
        "lw t1, 4(%[place])\n"
        "add t0, t0, %[x]\n"
        "add t1, t1, %[x]\n"
        "vle8.v v0, (t0)\n"
        "vle8.v v2, (%[w])\n"
        "add %[w], %[w], %[stride]\n"
        "vle8.v v4, (t1)\n"
        "vle8.v v6, (%[w])\n"
        "add %[w], %[w], %[stride]\n"
        "vwmul.vv v8, v0, v2\n"
        "vwmacc.vv v8, v4, v6\n"
        "addi %[place], %[place], 8\n" TINYRT_WIDE_HALVES
        "vwadd.wv v16, v16, v8\n" TINYRT_WIDE_BYTES "bne %[place], t2, 1b\n"
        "2:\n" /* A single last one. */
        "andi t0, %[taps], 1\n"
        "beqz t0, 3f\n"
        "lw t0, 0(%[place])\n"
        "add t0, t0, %[x]\n"
        "vle8.v v0, (t0)\n"
        "vle8.v v2, (%[w])\n"
        "vwmul.vv v8, v0, v2\n" TINYRT_WIDE_HALVES "vwadd.wv v16, v16, v8\n"
        "3:\n" TINYRT_FINISH(TINYRT_ONE_PIXEL, WIDE)
        : [vl] "+r"(channels), [w] "+r"(tap), [place] "+r"(places), [y] "+r"(y)
        : [taps] "r"(p->rows), [x] "r"(x + from), [bias] "r"(p->bias + from),
          [mult] "r"(p->mult + from), [shift] "r"(p->shift + from), [stride] "r"(p->stride),
          [zp] "r"(p->y_zp), [low] "r"(p->act_min), [high] "r"(p->act_max)
        : "t0", "t1", "t2", "memory" TINYRT_CLOBBERED);
    return channels;
#else
    int32_t sum = p->bias[from];
    for (int32_t i = 0; i < p->rows; ++i, tap += p->stride) {
        sum += x[places[i] + from] * *tap;
    }
    *y = tinyrt_to_s8(tinyrt_requant(sum, p->mult[from], p->shift[from]), p->y_zp, p->act_min,
                      p->act_max);
    return 1;
#endif
}

static void convolve_row(const tinyrt_conv2d_strips_s8_params *p, const int8_t *x, int32_t oy,
                         const int8_t *w, int8_t *scratch, int8_t *y) {
    const tinyrt_strips *const strips = &p->strips;
    for (int32_t ox = 0; ox < p->y.w; ++ox, y += p->y.c) {
        const int8_t *window = scratch;
        const int32_t *places = p->places + strips->rows;
        if (tinyrt_windows_inside(p, oy, ox, 1)) {
            window = x + tinyrt_window_place(p, oy, ox);
            places = p->places;
        } else {
            tinyrt_copy_window(p, x, oy, ox, scratch);
        }
        for (int32_t c = 0; c < strips->c_out;) {
            c += strip(strips, c, window, places, w, y);
        }
    }
}

void tinyrt_depthwise_strips_s8(const tinyrt_conv2d_strips_s8_params *p, const int8_t *x,
                                const int8_t *w, int8_t *scratch, int8_t *y) {
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * p->x.w * p->x.c) {
        for (int32_t oy = 0; oy < p->y.h; ++oy, y += p->y.w * p->y.c) {
            convolve_row(p, x, oy, w, scratch, y);
        }
    }
}
