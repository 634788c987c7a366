#include "tinyrt_window_triples.h"

#include "tinyrt_copy.h"

/** Copies row ky of the window at a place to patch, with the zero point where it lies outside. */
static void copy_row(const tinyrt_window_block_s8_params *p, const tinyrt_output_place *place,
                     int32_t ky, int8_t *patch) {
    const int32_t run = p->window.kernel_w * p->x.c;
    const int32_t row_bytes = p->x.w * p->x.c;
    const int32_t y = (place->row * p->window.stride_h) - p->window.pad_top + ky;
    const int32_t first = ((place->column * p->window.stride_w) - p->window.pad_left) * p->x.c;
    const int32_t behind = row_bytes - first;
    const int32_t begin = (first < 0) ? -first : 0;
    const int32_t end = (behind < run) ? behind : run;
    const int32_t inside = (y >= 0) && (y < p->x.h);
    if ((inside == 0) || ((end - begin) != run)) {
        tinyrt_fill((int8_t)p->x_zp, patch + run, patch);
    }
    if (inside != 0) {
        (void)tinyrt_copy(place->x + (y * row_bytes) + first + begin, patch + end, patch + begin);
    }
}

/** The next output's place. */
static void go_on(const tinyrt_window_block_s8_params *p, tinyrt_output_place *place) {
    if (++place->column == p->y.w) {
        place->column = 0;
        if (++place->row == p->y.h) {
            place->row = 0;
            place->x += p->x.h * p->x.w * p->x.c;
        }
    }
}

/** Four outputs of a row whose windows lie inside. */
static void set_inside(const tinyrt_window_block_s8_params *p, const int8_t *x, int32_t *triples) {
    const tinyrt_offsets apart = tinyrt_offsets_of(p->window.stride_w * p->x.c, 4);
    const int32_t run = p->window.kernel_w * p->x.c;
    for (int32_t ky = p->window.kernel_h; ky > 0; --ky) {
        tinyrt_set_triples(x, &apart, run, triples);
        triples += TINYRT_TRIPLE * run;
        x += p->x.w * p->x.c;
    }
}

void tinyrt_window_triples(const tinyrt_window_block_s8_params *p, tinyrt_output_place *place,
                           int32_t left, int32_t *triples, int8_t *patch) {
    const tinyrt_window *const window = &p->window;
    const int32_t run = window->kernel_w * p->x.c;
    const int32_t taps = window->kernel_h * run;
    const int32_t y0 = (place->row * window->stride_h) - window->pad_top;
    const int32_t x0 = (place->column * window->stride_w) - window->pad_left;
    const int32_t last = x0 + (3 * window->stride_w) + window->kernel_w;
    tinyrt_pad_triples(taps, triples + (TINYRT_TRIPLE * taps));
    if ((left >= 4) && ((place->column + 4) <= p->y.w) && (y0 >= 0) &&
        ((y0 + window->kernel_h) <= p->x.h) && (x0 >= 0) && (last <= p->x.w)) {
        set_inside(p, place->x + (((y0 * p->x.w) + x0) * p->x.c), triples);
        place->column += 3;
        go_on(p, place);
        return;
    }
    const tinyrt_offsets apart = tinyrt_offsets_of(run, 4);
    tinyrt_output_place places[4];
    const int32_t last_one = ((left < 4) ? left : 4) - 1;
    for (int32_t i = 0; i < 4; ++i) {
        places[i] = *place;
        if (i < last_one) {
            go_on(p, place);
        }
    }
    go_on(p, place);
    for (int32_t ky = 0; ky < window->kernel_h; ++ky) {
        for (int32_t i = 0; i < 4; ++i) {
            copy_row(p, &places[i], ky, patch + (i * run));
        }
        tinyrt_set_triples(patch, &apart, run, triples);
        triples += TINYRT_TRIPLE * run;
    }
}
