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
static TINYRT_NOINLINE void begin_rows(const tinyrt_window_block_s8_params *p,
                                       const tinyrt_output_place *place, window_rows *rows) {
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
static TINYRT_NOINLINE void go_on(const tinyrt_window_block_s8_params *p,
                                  tinyrt_output_place *place) {
    if (++place->column == p->y.w) {
        place->column = 0;
        if (++place->row == p->y.h) {
            place->row = 0;
            place->x += p->x.h * p->x.w * p->x.c;
        }
    }
}

/** Whether the windows of an output, and of those so many elements behind, lie inside. */
static int32_t are_inside(const tinyrt_window_block_s8_params *p, const window_rows *rows,
                          int32_t behind) {
    return (rows->y >= 0) && ((rows->y + p->window.kernel_h) <= p->x.h) && (rows->first >= 0) &&
           ((rows->first + behind + rows->run) <= (p->x.w * p->x.c));
}

/** Rows of outputs that lie in several rows of these, or are fewer than four. Returns the last
 * one's index. */
static int32_t set_apart(const tinyrt_window_block_s8_params *p, tinyrt_output_place *place,
                         int32_t left, int32_t step, window_rows *rows, tinyrt_offsets *apart) {
    int32_t last = 0;
    apart->fourth = 0;
    go_on(p, place);
    for (int32_t i = 1; i < 4; ++i) {
        TINYRT_SHORT_LOOP; /* Compilers would write it three times. */
        apart->second = apart->third;
        apart->third = apart->fourth;
        if (i < left) {
            if ((step > 0) && (place->column > 0)) {
                apart->fourth += step;
                rows[last].run += step;
            } else {
                apart->fourth += p->window.kernel_w * p->x.c;
                ++last;
                begin_rows(p, place, &rows[last]);
            }
            go_on(p, place);
        }
    }
    return last;
}

/* Outputs side by side share a copy of what they read. Where steps are longer than windows, patch
 * has no room for that, so that they only do if nothing is copied. */
void tinyrt_window_triples(const tinyrt_window_block_s8_params *p, tinyrt_output_place *place,
                           int32_t left, int32_t *triples, int8_t *patch) {
    const int32_t run = p->window.kernel_w * p->x.c;
    const int32_t taps = p->window.kernel_h * run;
    int32_t step = p->window.stride_w * p->x.c;
    window_rows rows[4];
    tinyrt_pad_triples(taps, triples + (TINYRT_TRIPLE * taps));
    begin_rows(p, place, &rows[0]);
    int32_t in_row = (left >= 4) && ((place->column + 4) <= p->y.w);
    if ((step > run) && ((in_row == 0) || (are_inside(p, &rows[0], 3 * step) == 0))) {
        step = 0;
        in_row = 0;
    }
    int32_t last = 0;
    tinyrt_offsets apart = {step, 2 * step, 3 * step};
    if (in_row != 0) {
        rows[0].run += apart.fourth;
        place->column += 3;
        go_on(p, place);
    } else {
        last = set_apart(p, place, left, step, rows, &apart);
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
