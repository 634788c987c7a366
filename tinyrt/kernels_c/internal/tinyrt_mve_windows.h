/** Copies of what windows read on cores with MVE: lines of points, of each point all of a window's
 *  lines side by side. */
#ifndef TINYRT_MVE_WINDOWS_H
#define TINYRT_MVE_WINDOWS_H

#include "tinyrt_conv2d_mve.h"

#include "tinyrt_mve_memory.h"
#include "tinyrt_taps.h"

/** Most bytes of a point of which several go into one vector. */
#define TINYRT_SMALL_POINT 5

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

#endif
