#include "tinyrt_conv2d_mve.h"

#include "tinyrt_mve_memory.h"
#include "tinyrt_taps.h"

/** One group: its weights, and the first of its channels. */
typedef struct {
    tinyrt_product_s8_params product;
    const int8_t *x;
    const int8_t *w;
    const int32_t *bias;
    int8_t *y;
} tinyrt_group;

/** What the windows of one output column read of an input row, in bytes: a border, runs of the row
 *  itself, a border. */
typedef struct {
    int32_t before;
    int32_t start;
    int32_t runs;
    int32_t run_bytes;
    int32_t run_step;
    int32_t after;
} tinyrt_slice;

static tinyrt_slice slice_of(const tinyrt_conv2d_s8_params *p, int32_t ox) {
    const tinyrt_window *window = &p->window;
    const int32_t c_in = p->x.c / p->groups;
    const int32_t x0 = ox * window->stride_w - window->pad_left;
    const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, window->dilation_w);
    const int32_t taps = kx.end - kx.begin;
    /* Neighbouring taps are neighbours in memory. */
    const int contiguous = window->dilation_w == 1 && p->groups == 1;
    const tinyrt_slice slice = {
        .before = kx.begin * c_in,
        .start = (x0 + kx.begin * window->dilation_w) * p->x.c,
        .runs = contiguous ? 1 : taps,
        .run_bytes = contiguous ? taps * c_in : c_in,
        .run_step = window->dilation_w * p->x.c,
        .after = (window->kernel_w - kx.end) * c_in,
    };
    return slice;
}

/** One row, with its borders and whatever lies between its runs. */
static void copy_row(const tinyrt_slice *slice, int8_t x_zp, const int8_t *row, int8_t *scratch) {
    tinyrt_mve_fill(scratch, x_zp, slice->before);
    scratch += slice->before;
    for (int32_t i = 0; i < slice->runs; ++i) {
        tinyrt_mve_copy(scratch, row, slice->run_bytes);
        row += slice->run_step;
        scratch += slice->run_bytes;
    }
    tinyrt_mve_fill(scratch, x_zp, slice->after);
}

/** Rows of one run of at most a vector. */
static void copy_short_rows(const int8_t *x, int32_t x_step, int32_t bytes, int32_t rows,
                            int8_t *scratch) {
    const mve_pred16_t lanes = vctp8q((uint32_t)bytes);
    for (; rows > 0; --rows) {
        vstrbq_p_s8(scratch, vldrbq_z_s8(x, lanes), lanes);
        x += x_step;
        scratch += bytes;
    }
}

/** Copies rows rows of x, all inside of it. */
static void copy_rows(const tinyrt_conv2d_s8_params *p, const tinyrt_slice *slice, const int8_t *x,
                      int32_t rows, int8_t *scratch) {
    const int32_t row_bytes = p->product.length / p->window.kernel_h;
    const int32_t x_step = p->window.dilation_h * p->x.w * p->x.c;
    const int whole = slice->runs == 1 && slice->run_bytes == row_bytes;
    if (whole && row_bytes <= TINYRT_VECTOR) {
        copy_short_rows(x, x_step, row_bytes, rows, scratch);
        return;
    }
    for (; rows > 0; --rows) {
        if (whole) {
            tinyrt_mve_copy(scratch, x, row_bytes);
        } else {
            copy_row(slice, (int8_t)p->x_zp, x, scratch);
        }
        x += x_step;
        scratch += row_bytes;
    }
}

/** Copies what the windows of column ox read of rows rows, from y0 on. */
static void copy_band(const tinyrt_conv2d_s8_params *p, const int8_t *x, int32_t y0, int32_t rows,
                      int32_t ox, int8_t *scratch) {
    const tinyrt_slice slice = slice_of(p, ox);
    const int32_t dilation = p->window.dilation_h;
    const int32_t row_bytes = p->product.length / p->window.kernel_h;
    const tinyrt_range inside = tinyrt_taps_inside(y0, p->x.h, rows, dilation);
    const int32_t first = y0 + inside.begin * dilation;
    tinyrt_mve_fill(scratch, (int8_t)p->x_zp, inside.begin * row_bytes);
    copy_rows(p, &slice, x + first * p->x.w * p->x.c + slice.start, inside.end - inside.begin,
              scratch + inside.begin * row_bytes);
    tinyrt_mve_fill(scratch + inside.end * row_bytes, (int8_t)p->x_zp,
                    (rows - inside.end) * row_bytes);
}

/** Column ox of the output, one band after the other. */
static void column(const tinyrt_conv2d_s8_params *p, const tinyrt_group *g, int32_t ox,
                   int8_t *scratch) {
    const tinyrt_window *window = &p->window;
    const int32_t row_bytes = p->product.length / window->kernel_h;
    const int32_t y_row = p->y.w * p->y.c;
    for (int32_t oy = 0; oy < p->y.h; oy += p->band) {
        const int32_t count = p->y.h - oy < p->band ? p->y.h - oy : p->band;
        const int32_t rows = (count - 1) * window->stride_h + window->kernel_h;
        copy_band(p, g->x, oy * window->stride_h - window->pad_top, rows, ox, scratch);
        tinyrt_product_s8(&g->product, scratch, window->stride_h * row_bytes, count, g->w, g->bias,
                          g->y + oy * y_row + ox * p->y.c, y_row);
    }
}

/** The whole output where the window is one element. */
static void pointwise(const tinyrt_conv2d_s8_params *p, const tinyrt_group *g) {
    const tinyrt_window *window = &p->window;
    const int32_t x_step = window->stride_w * p->x.c;
    if (window->stride_h == 1 && window->stride_w == 1) {
        tinyrt_product_s8(&g->product, g->x, x_step, p->y.h * p->y.w, g->w, g->bias, g->y, p->y.c);
        return;
    }
    for (int32_t oy = 0; oy < p->y.h; ++oy) {
        tinyrt_product_s8(&g->product, g->x + oy * window->stride_h * p->x.w * p->x.c, x_step,
                          p->y.w, g->w, g->bias, g->y + oy * p->y.w * p->y.c, p->y.c);
    }
}

static void image(const tinyrt_conv2d_s8_params *p, const tinyrt_group *g, int8_t *scratch) {
    if (p->band == 0) {
        pointwise(p, g);
        return;
    }
    for (int32_t ox = 0; ox < p->y.w; ++ox) {
        column(p, g, ox, scratch);
    }
}

void tinyrt_conv2d_s8(const tinyrt_conv2d_s8_params *p, const int8_t *x, const int8_t *w,
                      const int32_t *bias, int8_t *scratch, int8_t *TINYRT_RESTRICT y) {
    const int32_t c_out = p->product.c_out;
    const int32_t packed_c_out = (c_out + 3) & ~3;
    const int32_t packed_length = (p->product.length + TINYRT_VECTOR - 1) & ~(TINYRT_VECTOR - 1);
    for (int32_t n = 0; n < p->y.n; ++n) {
        tinyrt_group g = {.product = p->product, .x = x, .w = w, .bias = bias, .y = y};
        for (int32_t i = 0; i < p->groups; ++i) {
            image(p, &g, scratch);
            g.product.requant.mult += c_out * p->product.requant.step;
            g.product.requant.shift += c_out * p->product.requant.step;
            g.x += p->x.c / p->groups;
            g.w += packed_c_out * packed_length;
            g.bias += packed_c_out;
            g.y += c_out;
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y.w * p->y.c;
    }
}
