/** SVDF over packed weights as the function TINYRT_KERNEL over a state of TINYRT_STATE:
 *  TINYRT_SATURATE limits a feature to its range, TINYRT_PAST adds products with it to a sum. A
 *  source sets these and includes this. */
#ifndef TINYRT_SVDF_BLOCK_LOOP_H
#define TINYRT_SVDF_BLOCK_LOOP_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_past.h"
#include "tinyrt_row.h"
#include "tinyrt_simd.h"
#include "tinyrt_svdf_block.h"

/** How sums become features. */
typedef struct {
    int32_t mult;
    int32_t rounding;
    int32_t next;
    int32_t zp;
} tinyrt_svdf_scale;

static inline TINYRT_STATE tinyrt_svdf_rounded(tinyrt_svdf_scale scale, int32_t value) {
    const int32_t high = tinyrt_high_mul(value, scale.mult);
    const uint32_t sum = (uint32_t)(scale.rounding + (high >> 31)) + ((uint32_t)high << 1);
    return (TINYRT_STATE)(TINYRT_SATURATE((int32_t)sum >> scale.next) + scale.zp);
}

/** The newest feature of every filter, to the end of its row. */
static TINYRT_NOINLINE void tinyrt_svdf_features(const tinyrt_svdf_block_params *p,
                                                 const tinyrt_row *x, const int32_t *w,
                                                 const int32_t *start, TINYRT_STATE *newest) {
    /* Copies: the compiler need not read them again after each feature. */
    const tinyrt_svdf_scale scale = {p->feature_mult, p->feature_rounding, p->feature_next,
                                     p->state_zp};
    const int32_t move_even = p->feature_even;
    const int32_t move_odd = p->feature_odd;
    const int32_t memory = p->memory;
    for (int32_t left = p->units * p->rank; left > 0; left -= TINYRT_ROW_CHANNELS) {
        int32_t sum[TINYRT_ROW_CHANNELS];
        for (int32_t i = 0; i < TINYRT_ROW_CHANNELS; ++i) {
            sum[i] = *start++;
        }
        w = tinyrt_dot_row(w, x, sum);
        for (int32_t i = 0; i < TINYRT_ROW_CHANNELS; i += 2) {
            const int32_t odd = (int32_t)((uint32_t)sum[i + 1] - (uint32_t)sum[i]);
            if (i < left) {
                *newest = tinyrt_svdf_rounded(scale, tinyrt_shift_left(sum[i], move_even));
                newest += memory;
            }
            if ((i + 1) < left) {
                *newest = tinyrt_svdf_rounded(scale, odd >> move_odd);
                newest += memory;
            }
        }
    }
}

void TINYRT_KERNEL(const tinyrt_svdf_block_params *p, const int8_t *x, const int32_t *w,
                   const int32_t *start, const TINYRT_STATE *time, const int32_t *bias,
                   const TINYRT_STATE *before, TINYRT_STATE *after, int8_t *y) {
    const int32_t length = p->rank * p->memory;
    const int32_t units = p->units;
    const int32_t state = units * length;
    const int32_t mult = p->time_mult;
    const int32_t shift = p->time_shift;
    const int32_t zp = p->y_zp;
    for (int32_t n = 0; n < p->batches; ++n) {
        const tinyrt_row row = tinyrt_row_of(x, p->c_in);
        tinyrt_move_on(before, (int32_t)sizeof(TINYRT_STATE), (state - 1), after);
        tinyrt_svdf_features(p, &row, w, start, after + p->memory - 1);
        const TINYRT_STATE *weights = time;
        for (int32_t unit = 0; unit < units; ++unit) {
            const int32_t acc = TINYRT_PAST(after, weights, length, bias[unit]);
            const int32_t value = tinyrt_requant(acc, mult, shift);
            *y++ = tinyrt_to_s8(value, zp, INT8_MIN, INT8_MAX);
            after += length;
            weights += length;
        }
        before += state;
        x += p->c_in;
    }
}

#endif
