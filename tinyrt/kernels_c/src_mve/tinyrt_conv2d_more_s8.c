#include "tinyrt_conv2d_more.h"

#include "tinyrt_mve_windows.h"
#include "tinyrt_product_s8.h"

/** int16 lanes of a vector. */
#define TINYRT_LANES 8

/** One group: the first of its channels, its weights, and what is read again. */
typedef struct {
    const int8_t *x;
    const int8_t *w;
    const int32_t *scales;
    const int16_t *places;
    int8_t *y;
} tinyrt_more_group;

/** Behind each of count points, step bytes apart: what is read again of it. */
static void tinyrt_read_again(const tinyrt_conv2d_more_s8_params *p, const int16_t *again,
                              int32_t count, int32_t step, int8_t *copy) {
    for (int32_t i = 0; i < p->count; i += TINYRT_LANES) {
        const mve_pred16_t lanes = vctp16q((uint32_t)(p->count - i));
        const uint16x8_t places = vreinterpretq_u16_s16(vldrhq_z_s16(again + i, lanes));
        const int8_t *from = copy;
        int8_t *to = copy + p->column_bytes + i;
        for (int32_t left = count; left > 0; --left) {
            vstrbq_p_s16(to, vldrbq_gather_offset_z_s16(from, places, lanes), lanes);
            from += step;
            to += step;
        }
    }
}

/** As many points of a window of one element, which take one vector each with what is read again.
 */
static void tinyrt_gather_points(const tinyrt_conv2d_more_s8_params *p, const int16_t *again,
                                 const int8_t *x, int32_t count, int8_t *copy) {
    uint8_t places[TINYRT_VECTOR];
    for (int32_t i = 0; i < TINYRT_VECTOR; ++i) {
        const int32_t behind = i - p->column_bytes;
        places[i] = (uint8_t)((behind < 0) ? i : again[behind]);
    }
    const uint8x16_t all = vldrbq_u8(places);
    for (; count > 0; --count) {
        vstrbq_s8(copy, vldrbq_gather_offset_s8(x, all));
        x += p->layer.x_point_step;
        copy += TINYRT_VECTOR;
    }
}

/** One output line, some of its points at once. */
static void tinyrt_line_with_more(const tinyrt_conv2d_more_s8_params *p, const tinyrt_more_group *g,
                                  tinyrt_points *points, int32_t line, int8_t *scratch) {
    const tinyrt_conv2d_s8_params *const layer = &p->layer;
    const int32_t stride = layer->window.stride_w;
    int8_t *y = g->y + (line * layer->y_line_step);
    for (int32_t first = 0; first < layer->y.w; first += layer->at_once) {
        const int32_t left = layer->y.w - first;
        const int32_t count = (left < layer->at_once) ? left : layer->at_once;
        const int32_t read = ((count - 1) * stride) + layer->window.kernel_w;
        if (p->gathers != 0) {
            tinyrt_gather_points(p, g->places,
                                 g->x + (line * layer->window.stride_h * layer->x_line_step) +
                                     (first * stride * layer->x_point_step),
                                 read, scratch);
        } else {
            tinyrt_copy_windows(layer, points, g->x, line,
                                (first * stride) - layer->window.pad_left, read, scratch);
            tinyrt_read_again(p, g->places, read, points->copy_step, scratch);
        }
        tinyrt_product_s8(&layer->product, scratch, stride * points->copy_step, count, g->w,
                          g->scales, y, layer->y_point_step);
        y += count * layer->y_point_step;
    }
}

void tinyrt_conv2d_more_s8(const tinyrt_conv2d_more_s8_params *p, const int8_t *x, const int8_t *w,
                           const int32_t *scales, int8_t *scratch, int8_t *y) {
    const tinyrt_conv2d_s8_params *const layer = &p->layer;
    const int32_t c_in = layer->x.c / layer->groups;
    const int32_t quads = (layer->product.c_out + 3) / 4;
    const int32_t vectors = (layer->product.length + TINYRT_VECTOR - 1) / TINYRT_VECTOR;
    tinyrt_points points = {.x_step = layer->window.dilation_w * layer->x_point_step,
                            .copy_step = p->column_bytes + p->count,
                            .spread_bytes = c_in};
    if (c_in <= TINYRT_SMALL_POINT) {
        points.spread = tinyrt_places_of(c_in, points.copy_step);
    }
    for (int32_t n = 0; n < layer->y.n; ++n) {
        tinyrt_more_group g = {x, w, scales, p->places, y};
        for (int32_t i = 0; i < layer->groups; ++i) {
            for (int32_t line = 0; line < layer->y.h; ++line) {
                tinyrt_line_with_more(p, &g, &points, line, scratch);
            }
            g.x += c_in;
            g.w += 4 * quads * vectors * TINYRT_VECTOR;
            g.scales += quads * TINYRT_SCALE_WORDS;
            g.places += p->count;
            g.y += layer->product.c_out;
        }
        x += layer->x.h * layer->x.w * layer->x.c;
        y += layer->y.h * layer->y.w * layer->y.c;
    }
}
