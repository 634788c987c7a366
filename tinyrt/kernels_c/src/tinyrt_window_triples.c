#include "tinyrt_window_triples.h"

#include "tinyrt_copy.h"

/** What outputs side by side read: their image, its next row, and from which element on how many.
 */
typedef struct {
    const int8_t *x;
    int32_t y;
    int32_t first;
    int32_t run;
} window_rows;

/** The rows of a single output. */
static void begin_rows(const tinyrt_window_block_s8_params *p, const tinyrt_output_place *place,
                       window_rows *rows) {
    const tinyrt_window *const window = &p->window;
    rows->x = place->x;
    rows->y = (place->row * window->stride_h) - window->pad_top;
    rows->first = ((place->column * window->stride_w) - window->pad_left) * p->x.c;
    rows->run = window->kernel_w * p->x.c;
}

/** Sets [to, end) to the zero point. */
static TINYRT_NOINLINE void fill(const tinyrt_window_block_s8_params *p, const int8_t *end,
                                 int8_t *to) {
    tinyrt_fill((int8_t)p->x_zp, end, to);
}

/** The next row: where it lies, if it may stay there and nothing lies outside; else its copy in
 *  patch, with the zero point outside. */
static const int8_t *next_row(const tinyrt_window_block_s8_params *p, window_rows *rows,
                              int32_t may_stay, int8_t *patch) {
    const int32_t run = rows->run;
    const int32_t first = rows->first;
    const int32_t row_bytes = p->x.w * p->x.c;
    const int32_t at = (rows->y * row_bytes) + first;
    const int32_t inside = (rows->y >= 0) && (rows->y < p->x.h);
    const int32_t behind = row_bytes - first;
    const int32_t begin = (first < 0) ? -first : 0;
    const int32_t end = (behind < run) ? behind : run;
    ++rows->y;
    int8_t *to = patch;
    if (inside != 0) {
        if ((may_stay != 0) && ((end - begin) == run)) {
            return rows->x + at;
        }
        fill(p, patch + begin, patch);
        to = tinyrt_copy(rows->x + at + begin, patch + end, patch + begin);
    }
    fill(p, patch + run, to);
    return patch;
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

/** Whether four outputs lie in a row, and all windows inside. */
static int32_t is_inside(const tinyrt_window_block_s8_params *p, const tinyrt_output_place *place,
                         int32_t left) {
    const tinyrt_window *const window = &p->window;
    const int32_t y0 = (place->row * window->stride_h) - window->pad_top;
    const int32_t x0 = (place->column * window->stride_w) - window->pad_left;
    const int32_t last = x0 + (3 * window->stride_w) + window->kernel_w;
    return (left >= 4) && ((place->column + 4) <= p->y.w) && (y0 >= 0) &&
           ((y0 + window->kernel_h) <= p->x.h) && (x0 >= 0) && (last <= p->x.w);
}

/* Outputs side by side share a copy of what they read. Where steps are longer than windows, patch
 * has no room for that, so that they only do if nothing is copied. */
void tinyrt_window_triples(const tinyrt_window_block_s8_params *p, tinyrt_output_place *place,
                           int32_t left, int32_t *triples, int8_t *patch) {
    const int32_t run = p->window.kernel_w * p->x.c;
    int32_t step = p->window.stride_w * p->x.c;
    if ((step > run) && (is_inside(p, place, left) == 0)) {
        step = 0;
    }
    const int32_t taps = p->window.kernel_h * run;
    tinyrt_pad_triples(taps, triples + (TINYRT_TRIPLE * taps));
    window_rows rows[4];
    int32_t last = -1;
    tinyrt_offsets apart = {0, 0, -run};
    for (int32_t i = 0; i < 4; ++i) {
        TINYRT_SHORT_LOOP; /* Compilers would write it four times. */
        apart.second = apart.third;
        apart.third = apart.fourth;
        if (i < left) {
            if ((last >= 0) && (step > 0) && (place->column > 0)) {
                apart.fourth += step;
                rows[last].run += step;
            } else {
                apart.fourth += run;
                ++last;
                begin_rows(p, place, &rows[last]);
            }
            go_on(p, place);
        }
    }
    for (int32_t left_rows = p->window.kernel_h; left_rows > 0; --left_rows) {
        const int8_t *x = patch;
        int8_t *to = patch;
        for (int32_t i = 0; i <= last; ++i) {
            x = next_row(p, &rows[i], last == 0, to);
            to += rows[i].run;
        }
        tinyrt_set_triples((last == 0) ? x : patch, &apart, run, triples);
        triples += TINYRT_TRIPLE * run;
    }
}
