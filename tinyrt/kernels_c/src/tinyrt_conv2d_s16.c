#include "tinyrt_conv2d_wide.h"

#include "tinyrt_copy.h"
#include "tinyrt_dot16.h"

/** Copies count elements; returns where the copy ends. */
static inline int16_t *copy_elements(const int16_t *from, int32_t count, int16_t *to) {
    int16_t *const end = to + count;
    if (TINYRT_COPY_BYTES > 1) {
        (void)tinyrt_copy((const int8_t *)from, (const int8_t *)end, (int8_t *)to);
        return end;
    }
    while (to != end) {
        TINYRT_SHORT_LOOP;
        *to++ = *from++;
    }
    return to;
}

/** Zeros up to end, which is returned. */
static inline int16_t *clear_elements(int16_t *end, int16_t *to) {
    while (to != end) {
        TINYRT_SHORT_LOOP;
        *to++ = 0;
    }
    return to;
}

/** What the window of output (oy, ox) reads of c_in channels from x on, with zeros around it. */
static void fill_column(const tinyrt_conv2d_s16_params *p, const int16_t *x, int32_t c_in,
                        int32_t oy, int32_t ox, int16_t *column) {
    const tinyrt_window *window = &p->window;
    int16_t *const end = column + p->taps;
    int32_t row = (oy * window->stride_h) - window->pad_top;
    for (int32_t ky = 0; ky < window->kernel_h; ++ky, row += window->dilation_h) {
        int32_t col = (ox * window->stride_w) - window->pad_left;
        for (int32_t kx = 0; kx < window->kernel_w; ++kx, col += window->dilation_w) {
            const int inside = (row >= 0) && (row < p->x.h) && (col >= 0) && (col < p->x.w);
            if (inside != 0) {
                column = copy_elements(x + (((row * p->x.w) + col) * p->x.c), c_in, column);
            } else {
                column = clear_elements(column + c_in, column);
            }
        }
    }
    (void)clear_elements(end, column);
}

/** The channels of one group for one column, of which oc is the first. */
static const int8_t *one_group(const tinyrt_conv2d_s16_params *p, const int16_t *column,
                               const int8_t *w, const int64_t *bias, int32_t oc, int16_t *y) {
    const tinyrt_requant_s16_params requant = p->requant;
    const int32_t end = oc + (p->y.c / p->groups);
    while (oc < end) {
        int64_t sum[4];
        w = tinyrt_dot16(w, column, p->taps, sum);
        for (int32_t i = 0; (i < 4) && (oc < end); ++i, ++oc) {
            const int64_t acc = sum[i] + ((bias != NULL) ? bias[oc] : 0);
            y[oc] = tinyrt_requant_s16(&requant, oc, acc);
        }
    }
    return w;
}

static void one_pixel(const tinyrt_conv2d_s16_params *p, const int16_t *x, const int8_t *w,
                      const int64_t *bias, int32_t oy, int32_t ox, int16_t *column, int16_t *y) {
    const int32_t c_in = p->x.c / p->groups;
    if (p->direct != 0) {
        const int32_t pixel = (oy * p->window.stride_h * p->x.w) + (ox * p->window.stride_w);
        (void)one_group(p, x + (pixel * c_in), w, bias, 0, y);
        return;
    }
    for (int32_t group = 0; group < p->groups; ++group) {
        fill_column(p, x + (group * c_in), c_in, oy, ox, column);
        w = one_group(p, column, w, bias, group * (p->y.c / p->groups), y);
    }
}

void tinyrt_conv2d_s16(const tinyrt_conv2d_s16_params *p, const int16_t *x, const int8_t *w,
                       const int64_t *bias, int16_t *column, int16_t *TINYRT_RESTRICT y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                one_pixel(p, x, w, bias, oy, ox, column, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
