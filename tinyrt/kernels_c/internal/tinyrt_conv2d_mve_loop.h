/** Convolutions on cores with MVE, as the function TINYRT_KERNEL over weights of
 *  TINYRT_WEIGHT_BITS, which are set where this is included. */
#ifndef TINYRT_CONV2D_MVE_LOOP_H
#define TINYRT_CONV2D_MVE_LOOP_H

#include "tinyrt_conv2d_mve.h"

#include "tinyrt_mve_memory.h"
#include "tinyrt_taps.h"

#if TINYRT_WEIGHT_BITS == 4
#include "tinyrt_product_s4.h"
#define TINYRT_PRODUCT tinyrt_product_s4
#else
#include "tinyrt_product_s8.h"
#define TINYRT_PRODUCT tinyrt_product_s8
#endif

/** Most bytes of a point of which several go into one vector. */
#define TINYRT_SMALL_POINT 5

/** One group: its weights, and the first of its channels. */
typedef struct {
    tinyrt_product_s8_params product;
    const int8_t *x;
    const int8_t *w;
    const int32_t *scales;
    int8_t *y;
} tinyrt_group;

/** Parts of points and their places in the copy, in bytes. spread: the places of a vector of points
 *  of spread_bytes that lie side by side. */
typedef struct {
    int32_t bytes;
    int32_t x_step;
    int32_t copy_step;
    int32_t spread_bytes;
    uint8x16_t spread;
} tinyrt_points;

static uint8x16_t tinyrt_places_of(int32_t bytes, int32_t copy_step) {
    uint8_t places[TINYRT_VECTOR];
    for (int32_t i = 0, start = 0, byte = 0; i < TINYRT_VECTOR; ++i) {
        places[i] = (uint8_t)(start + byte);
        if (++byte == bytes) {
            byte = 0;
            start += copy_step;
        }
    }
    return vldrbq_u8(places);
}

/** As many points at once as a vector holds. */
static void tinyrt_spread_small_points(const tinyrt_points *points, const int8_t *x, int32_t count,
                                       int8_t *copy) {
    const int32_t at_once = TINYRT_VECTOR / points->bytes;
    const int32_t copy_step = at_once * points->copy_step;
    const int32_t bytes = at_once * points->bytes;
    for (int32_t left = count * points->bytes; left > 0; left -= bytes) {
        const mve_pred16_t lanes = vctp8q((uint32_t)((left < bytes) ? left : bytes));
        vstrbq_scatter_offset_p_s8(copy, points->spread, vldrbq_z_s8(x, lanes), lanes);
        x += bytes;
        copy += copy_step;
    }
}

#if TINYRT_ASM_LOOPS

/** A vector of every point. */
static inline void tinyrt_copy_whole_vectors(const int8_t *x, int32_t x_step, int32_t count,
                                             int8_t *copy, int32_t copy_step) {
    register int32_t left __asm("lr") = count;
    if (x_step == TINYRT_VECTOR) {
        __asm volatile("wls lr, lr, 2f\n"
                       "1:\n"
                       "vldrb.8 q0, [%[x]], #16\n"
                       "vstrb.8 q0, [%[copy]]\n"
                       "add %[copy], %[step]\n"
                       "le lr, 1b\n"
                       "2:\n"
                       : [x] "+r"(x), [copy] "+r"(copy), "+r"(left)
                       : [step] "r"(copy_step)
                       : "q0", "memory");
    } else {
        __asm volatile("wls lr, lr, 2f\n"
                       "1:\n"
                       "vldrb.8 q0, [%[x]]\n"
                       "add %[x], %[x_step]\n"
                       "vstrb.8 q0, [%[copy]]\n"
                       "add %[copy], %[step]\n"
                       "le lr, 1b\n"
                       "2:\n"
                       : [x] "+r"(x), [copy] "+r"(copy), "+r"(left)
                       : [step] "r"(copy_step), [x_step] "r"(x_step)
                       : "q0", "memory");
    }
}

#else

static inline void tinyrt_copy_whole_vectors(const int8_t *x, int32_t x_step, int32_t count,
                                             int8_t *copy, int32_t copy_step) {
    for (; count > 0; --count) {
        vstrbq_s8(copy, vldrbq_s8(x));
        x += x_step;
        copy += copy_step;
    }
}

#endif

/** A vector of every point, or the bytes lanes of it. */
static void tinyrt_copy_vectors(const tinyrt_points *points, const int8_t *x, int32_t count,
                                int32_t bytes, int8_t *copy) {
    const int32_t x_step = points->x_step;
    const int32_t copy_step = points->copy_step;
    if (bytes >= TINYRT_VECTOR) {
        tinyrt_copy_whole_vectors(x, x_step, count, copy, copy_step);
        return;
    }
    const mve_pred16_t lanes = vctp8q((uint32_t)bytes);
    for (; count > 0; --count) {
        vstrbq_p_s8(copy, vldrbq_z_s8(x, lanes), lanes);
        x += x_step;
        copy += copy_step;
    }
}

static void tinyrt_copy_points(const tinyrt_points *points, const int8_t *x, int32_t count,
                               int8_t *copy) {
    const int contiguous = points->x_step == points->bytes;
    if (contiguous && (points->copy_step == points->bytes)) {
        tinyrt_mve_copy(copy, x, count * points->bytes);
    } else if (contiguous && (points->bytes <= TINYRT_SMALL_POINT) &&
               (points->bytes == points->spread_bytes) &&
               ((TINYRT_VECTOR * points->copy_step) <= UINT8_MAX)) {
        tinyrt_spread_small_points(points, x, count, copy);
    } else {
        for (int32_t i = 0; i < points->bytes; i += TINYRT_VECTOR) {
            tinyrt_copy_vectors(points, x + i, count, points->bytes - i, copy + i);
        }
    }
}

/** Fills bytes of each of count points. */
static void tinyrt_fill_points(const tinyrt_points *points, int8_t value, int32_t count,
                               int32_t bytes, int8_t *copy) {
    if (bytes > 0) {
        for (; count > 0; --count) {
            tinyrt_mve_fill(copy, value, bytes);
            copy += points->copy_step;
        }
    }
}

/** Copies what the windows of an output line read of count points from x0 on, a dilation apart: of
 *  each point, all of its window's lines, some of which may lie side by side. */
static void tinyrt_copy_windows(const tinyrt_conv2d_s8_params *p, tinyrt_points *points,
                                const int8_t *x, int32_t line, int32_t x0, int32_t count,
                                int8_t *copy) {
    const tinyrt_window *window = &p->window;
    const int32_t c_in = p->x.c / p->groups;
    const int8_t x_zp = (int8_t)p->x_zp;
    const int32_t y0 = (line * window->stride_h) - window->pad_top;
    const tinyrt_range in = tinyrt_taps_inside(x0, p->x.w, count, window->dilation_w);
    const tinyrt_range lines = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, window->dilation_h);
    const int adjacent = (window->dilation_h == 1) && (p->x_line_step == c_in);
    const int32_t together = adjacent ? (lines.end - lines.begin) : 1;
    const int32_t inside = in.end - in.begin;
    const int32_t copy_step = points->copy_step;
    tinyrt_mve_fill(copy, x_zp, in.begin * copy_step);
    tinyrt_mve_fill(copy + (in.end * copy_step), x_zp, (count - in.end) * copy_step);
    copy += in.begin * copy_step;
    x += (x0 + (in.begin * window->dilation_w)) * p->x_point_step;
    tinyrt_fill_points(points, x_zp, inside, lines.begin * c_in, copy);
    points->bytes = together * c_in;
    for (int32_t i = lines.begin; i < lines.end; i += together) {
        tinyrt_copy_points(points, x + (y0 + (i * window->dilation_h)) * p->x_line_step, inside,
                           copy + (i * c_in));
    }
    tinyrt_fill_points(points, x_zp, inside, (window->kernel_h - lines.end) * c_in,
                       copy + (lines.end * c_in));
}

/** One output line, some of its points at once. */
static void tinyrt_output_line(const tinyrt_conv2d_s8_params *p, const tinyrt_group *g,
                               int32_t line, tinyrt_points *points, int8_t *scratch) {
    const tinyrt_window *window = &p->window;
    const int32_t stride = window->stride_w;
    int8_t *const y = g->y + (line * p->y_line_step);
    for (int32_t first = 0; first < p->y.w; first += p->at_once) {
        const int32_t left = p->y.w - first;
        const int32_t count = (left < p->at_once) ? left : p->at_once;
        tinyrt_copy_windows(p, points, g->x, line, (first * stride) - window->pad_left,
                            ((count - 1) * stride) + window->kernel_w, scratch);
        TINYRT_PRODUCT(&g->product, scratch, stride * points->copy_step, count, g->w, g->scales,
                       y + (first * p->y_point_step), p->y_point_step);
    }
}

/** The whole output where the window is one element. Where the output may lie on the input, some
 *  pixels at once are copied first. */
static void tinyrt_pointwise(const tinyrt_conv2d_s8_params *p, const tinyrt_group *g,
                             int8_t *scratch) {
    const tinyrt_window *window = &p->window;
    const int whole = (window->stride_h == 1) && (window->stride_w == 1);
    const int32_t lines = whole ? 1 : p->y.h;
    const int32_t points = whole ? (p->y.h * p->y.w) : p->y.w;
    const int32_t x_step = window->stride_w * p->x_point_step;
    for (int32_t line = 0; line < lines; ++line) {
        const int8_t *x = g->x + (line * window->stride_h * p->x_line_step);
        int8_t *y = g->y + (line * p->y_line_step);
        for (int32_t left = points; left > 0; left -= p->at_once) {
            const int32_t count = (left < p->at_once) ? left : p->at_once;
            if (scratch != NULL) {
                tinyrt_mve_copy(scratch, x, count * x_step);
            }
            TINYRT_PRODUCT(&g->product, (scratch != NULL) ? scratch : x, x_step, count, g->w,
                           g->scales, y, p->y_point_step);
            x += p->at_once * x_step;
            y += p->at_once * p->y_point_step;
        }
    }
}

static void tinyrt_conv2d_image(const tinyrt_conv2d_s8_params *p, const tinyrt_group *g,
                                int8_t *scratch) {
    if ((p->window.kernel_h * p->window.kernel_w) == 1) {
        tinyrt_pointwise(p, g, scratch);
        return;
    }
    const int32_t c_in = p->x.c / p->groups;
    const int32_t copy_step = p->window.kernel_h * c_in;
    tinyrt_points points = {.x_step = p->window.dilation_w * p->x_point_step,
                            .copy_step = copy_step,
                            .spread_bytes = c_in};
    if (c_in <= TINYRT_SMALL_POINT) {
        points.spread = tinyrt_places_of(c_in, copy_step);
    }
    for (int32_t line = 0; line < p->y.h; ++line) {
        tinyrt_output_line(p, g, line, &points, scratch);
    }
}

void TINYRT_KERNEL(const tinyrt_conv2d_s8_params *p, const int8_t *x, const int8_t *w,
                   const int32_t *scales, int8_t *scratch, int8_t *y) {
    const int32_t c_out = p->product.c_out;
    const int32_t packed_c_out = (c_out + 3) & ~3;
    const int32_t packed_length = (p->product.length + TINYRT_VECTOR - 1) & ~(TINYRT_VECTOR - 1);
    for (int32_t n = 0; n < p->y.n; ++n) {
        tinyrt_group g = {.product = p->product, .x = x, .w = w, .scales = scales, .y = y};
        for (int32_t i = 0; i < p->groups; ++i) {
            tinyrt_conv2d_image(p, &g, scratch);
            g.x += p->x.c / p->groups;
            g.w += packed_c_out * packed_length * TINYRT_WEIGHT_BITS / 8;
            g.scales += packed_c_out / 4 * TINYRT_SCALE_WORDS;
            g.y += c_out;
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}

#endif
