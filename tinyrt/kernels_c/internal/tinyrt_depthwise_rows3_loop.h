/** Depthwise convolutions of a few rows of outputs with filters of 3 x 3, as the function
 *  TINYRT_KERNEL over weights of TINYRT_WEIGHT_BITS, which are set where this is included. */
#ifndef TINYRT_DEPTHWISE_ROWS3_LOOP_H
#define TINYRT_DEPTHWISE_ROWS3_LOOP_H

#include "tinyrt_depthwise3x3.h"
#include "tinyrt_filter3_weights.h"

/** What the loops along a channel's rows need; weights and init are doubled. head is what a sum
 *  begins with whose window begins before the row. */
typedef struct {
    tinyrt_filter3 filter;
    tinyrt_column3 border;
    int32_t init;
    int32_t head;
    int32_t mult;
    int32_t shift;
    int32_t rounding;
    int32_t step;
    int32_t row;
} tinyrt_rows_channel;

static inline int8_t tinyrt_finish3(const tinyrt_rows_channel *k, int32_t doubled) {
    return tinyrt_requant_rounded(doubled, k->mult, k->shift, k->rounding);
}

/** Sums of the outputs whose windows have begun: in their second and in their first column. */
typedef struct {
    int32_t two;
    int32_t one;
} tinyrt_sums;

static inline tinyrt_sums tinyrt_begin_row3(const tinyrt_rows_channel *k, tinyrt_column3 x) {
    const tinyrt_sums sums = {tinyrt_add_column3(&k->filter, 1, x, k->head),
                              tinyrt_add_column3(&k->filter, 0, x, k->init)};
    return sums;
}

/** One more column: the output that it ends. */
static inline int8_t tinyrt_advance_row3(const tinyrt_rows_channel *k, tinyrt_column3 x,
                                         tinyrt_sums *sums) {
    const int32_t sum = tinyrt_add_column3(&k->filter, 2, x, sums->two);
    sums->two = tinyrt_add_column3(&k->filter, 1, x, sums->one);
    sums->one = tinyrt_add_column3(&k->filter, 0, x, k->init);
    return tinyrt_finish3(k, sum);
}

static inline int8_t tinyrt_end_row3(const tinyrt_rows_channel *k, tinyrt_sums sums) {
    return tinyrt_finish3(k, tinyrt_add_column3(&k->filter, 2, k->border, sums.two));
}

/** Two rows of outputs at once: of the four elements of a column, two take part in both. */
static inline void tinyrt_two_rows(const tinyrt_rows_channel *k, const int8_t *x, int32_t length,
                                   int8_t *y) {
    const int32_t row = k->row;
    tinyrt_sums upper = tinyrt_begin_row3(k, tinyrt_load_column3(x[0], x[row], x[2 * row]));
    tinyrt_sums lower = tinyrt_begin_row3(k, tinyrt_load_column3(x[row], x[2 * row], x[3 * row]));
    for (const int8_t *const stop = x + length; x != stop; y += k->step) {
        x += k->step;
        const int32_t first = x[row];
        const int32_t second = x[2 * row];
        y[0] = tinyrt_advance_row3(k, tinyrt_load_column3(x[0], first, second), &upper);
        y[row] = tinyrt_advance_row3(k, tinyrt_load_column3(first, second, x[3 * row]), &lower);
    }
    y[0] = tinyrt_end_row3(k, upper);
    y[row] = tinyrt_end_row3(k, lower);
}

static inline void tinyrt_one_row(const tinyrt_rows_channel *k, const int8_t *x, int32_t length,
                                  int8_t *y) {
    const int32_t row = k->row;
    tinyrt_sums sums = tinyrt_begin_row3(k, tinyrt_load_column3(x[0], x[row], x[2 * row]));
    for (const int8_t *const stop = x + length; x != stop; y += k->step) {
        x += k->step;
        *y = tinyrt_advance_row3(k, tinyrt_load_column3(x[0], x[row], x[2 * row]), &sums);
    }
    *y = tinyrt_end_row3(k, sums);
}

void TINYRT_KERNEL(const tinyrt_depthwise3x3_s8_params *p, int32_t rows, const int8_t *x,
                   int8_t *y) {
    const int32_t length = (p->along.x_count - 1) * p->along.x_step;
    for (int32_t c = 0; c < p->along.x_step; ++c) {
        const int32_t i = c & -(p->requant_step >> 2);
        tinyrt_rows_channel k;
        k.filter = TINYRT_LOAD_FILTER3(p->w, c, p->shift[i]);
        tinyrt_double3(&k.filter);
        k.border = tinyrt_load_column3(p->x_zp, p->x_zp, p->x_zp);
        k.init = 2 * p->init[c];
        k.head = tinyrt_add_column3(&k.filter, 0, k.border, k.init);
        k.mult = p->mult[i];
        k.shift = TINYRT_RIGHT(p->shift[i]);
        k.rounding = tinyrt_rounding_of(k.shift, (2 * p->y_zp) + 1);
        k.step = p->along.x_step;
        k.row = p->across.x_step;
        int32_t done = 0;
        for (; (done + 2) <= rows; done += 2) {
            tinyrt_two_rows(&k, x + c + (done * k.row), length, y + c + (done * k.row));
        }
        if (done != rows) {
            tinyrt_one_row(&k, x + c + (done * k.row), length, y + c + (done * k.row));
        }
    }
}

#endif
