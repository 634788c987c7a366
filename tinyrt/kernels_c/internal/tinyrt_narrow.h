/** From sums over nibbles to outputs. */
#ifndef TINYRT_NARROW_H
#define TINYRT_NARROW_H

#include "tinyrt_block_runs.h"

/** What a whole layer's loop needs: twice its output's zero point and 1, and by how many bits
 *  accumulators are raised beyond their doubling. */
typedef struct {
    int32_t zp;
    int32_t raise;
} tinyrt_narrow;

static inline tinyrt_narrow tinyrt_narrow_of(const tinyrt_block_s8_params *p) {
    const int32_t y_zp = (int8_t)p->y_zp;
    const tinyrt_narrow narrow = {(2 * y_zp) + 1, ((p->y_zp - y_zp) >> 8) - 1};
    return narrow;
}

/** Doubled accumulators from the sums of tinyrt_dot_one_s4, which began with tinyrt_start_s4, and
 *  16 times the column's sum: what nibbles have too much, doubled. Each takes one addition, as
 *  shifts are part of it. */
static inline int32_t tinyrt_doubled_0(const int32_t *sum, int32_t x16) {
    return (int32_t)(((uint32_t)sum[0] << 1) - (uint32_t)x16);
}

static inline int32_t tinyrt_doubled_1(const int32_t *sum, int32_t x16) {
    return ((int32_t)((uint32_t)sum[1] - (uint32_t)sum[0]) >> 3) - x16;
}

static inline int32_t tinyrt_doubled_2(const int32_t *sum, int32_t x16) {
    return (sum[2] >> 7) - x16;
}

static inline int32_t tinyrt_doubled_3(const int32_t *sum, int32_t init) {
    const uint32_t others = (uint32_t)sum[1] + (uint32_t)sum[2];
    return ((int32_t)((uint32_t)sum[3] - others) >> 11) + (2 * init);
}

/** The sums' first values. */
static inline void tinyrt_start_s4(const int32_t *init, int32_t *sum) {
    sum[0] = init[0];
    sum[1] = init[1];
    sum[2] = init[2];
    sum[3] = (int32_t)((uint32_t)init[1] + (uint32_t)init[2]);
}

static inline int8_t tinyrt_finish_s4(const tinyrt_run *run, int32_t channel, tinyrt_narrow narrow,
                                      int32_t doubled) {
    const int32_t shift = run->shift[channel];
    const int32_t acc = (int32_t)((uint32_t)doubled << narrow.raise);
    return tinyrt_requant_rounded(acc, run->mult[channel], shift,
                                  tinyrt_rounding_of(shift, narrow.zp));
}

/** Requantises the four sums of a single column. */
static inline void tinyrt_finish_four_s4(const tinyrt_run *run, tinyrt_narrow narrow, int32_t x16,
                                         const int32_t *sum, int8_t *y) {
    y[0] = tinyrt_finish_s4(run, 0, narrow, tinyrt_doubled_0(sum, x16));
    y[1] = tinyrt_finish_s4(run, 1, narrow, tinyrt_doubled_1(sum, x16));
    y[2] = tinyrt_finish_s4(run, 2, narrow, tinyrt_doubled_2(sum, x16));
    y[3] = tinyrt_finish_s4(run, 3, narrow, tinyrt_doubled_3(sum, run->init[3]));
}

#endif
