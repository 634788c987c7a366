/** Poolings of int16, as tinyrt_pool_s16 where this is included: TINYRT_POOLED_START is what is
 * known before the first element, TINYRT_POOLED_NEXT takes one in, and TINYRT_POOLED_END makes an
 * output of so many. */
#ifndef TINYRT_POOL_S16_LOOP_H
#define TINYRT_POOL_S16_LOOP_H

#include "tinyrt_pool_walk.h"

/** One channel, of which x is the first element. */
static int32_t tinyrt_pool_one(const tinyrt_area *area, const int16_t *x) {
    const int32_t step = area->column_step;
    const int32_t next_row = area->row_step - (area->columns * step);
    int32_t s0 = TINYRT_POOLED_START;
    for (int32_t row = area->rows; row > 0; --row, x += next_row) {
        for (int32_t left = area->columns; left > 0; --left, x += step) {
            s0 = TINYRT_POOLED_NEXT(s0, x[0]);
        }
    }
    return s0;
}

static inline int16_t tinyrt_pooled_output(const tinyrt_pool2d_s8_params *p, int32_t pooled,
                                           int32_t count) {
    (void)count;
    return (int16_t)tinyrt_clamp(TINYRT_POOLED_END(pooled, count), p->act_min, p->act_max);
}

/** Outputs of four neighbouring channels. */
static void tinyrt_pool_four(const tinyrt_pool2d_s8_params *p, const tinyrt_area *area,
                             const int16_t *x, int16_t *y) {
    const int32_t step = area->column_step;
    const int32_t next_row = area->row_step - (area->columns * step);
    const int32_t count = area->rows * area->columns;
    int32_t s0 = TINYRT_POOLED_START;
    int32_t s1 = TINYRT_POOLED_START;
    int32_t s2 = TINYRT_POOLED_START;
    int32_t s3 = TINYRT_POOLED_START;
    for (int32_t row = area->rows; row > 0; --row, x += next_row) {
        for (int32_t left = area->columns; left > 0; --left, x += step) {
            s0 = TINYRT_POOLED_NEXT(s0, x[0]);
            s1 = TINYRT_POOLED_NEXT(s1, x[1]);
            s2 = TINYRT_POOLED_NEXT(s2, x[2]);
            s3 = TINYRT_POOLED_NEXT(s3, x[3]);
        }
    }
    y[0] = tinyrt_pooled_output(p, s0, count);
    y[1] = tinyrt_pooled_output(p, s1, count);
    y[2] = tinyrt_pooled_output(p, s2, count);
    y[3] = tinyrt_pooled_output(p, s3, count);
}

/** All channels under one window. */
static void tinyrt_pool_channels(const tinyrt_pool2d_s8_params *p, const tinyrt_area *area,
                                 const int16_t *x, int16_t *y) {
    int32_t c = 0;
    for (; (p->y.c - c) >= 4; c += 4) {
        tinyrt_pool_four(p, area, x + c, y + c);
    }
    for (; c < p->y.c; ++c) {
        y[c] = tinyrt_pooled_output(p, tinyrt_pool_one(area, x + c), area->rows * area->columns);
    }
}

static inline void tinyrt_pool_s16(const tinyrt_pool2d_s8_params *p, const int16_t *input,
                                   int16_t *output) {
    TINYRT_POOL_WALK(p, input, output, int16_t, tinyrt_pool_channels(p, &area, x, y));
}

#endif
