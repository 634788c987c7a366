/** A row of pairs' extremes, a vector at a time, where this is included: TINYRT_EXTREMES of
 * vectors, TINYRT_WINS whether the first of two elements is taken. */
#ifndef TINYRT_EXTREME_MVE_LOOP_H
#define TINYRT_EXTREME_MVE_LOOP_H

#include "tinyrt_mve.h"
#include "tinyrt_rows_of_pairs.h"

/** A vector of neighbours, or of one element that repeats. */
static int8x16_t tinyrt_vector_of(const int8_t *x, int32_t step, mve_pred16_t lanes) {
    return (step == 0) ? vdupq_n_s8(*x) : vldrbq_z_s8(x, lanes);
}

static TINYRT_NOINLINE void tinyrt_extreme_row(const void *params, const int8_t *a, int32_t a_step,
                                               const int8_t *b, int32_t b_step, int32_t count,
                                               int8_t *y) {
    (void)params;
    if ((a_step | b_step) > 1) {
        for (; count > 0; --count, a += a_step, b += b_step) {
            *y++ = TINYRT_WINS(*a, *b) ? *a : *b;
        }
        return;
    }
    if ((a_step & b_step) == 1) {
        for (; count >= TINYRT_VECTOR; count -= TINYRT_VECTOR, y += TINYRT_VECTOR) {
            vstrbq_s8(y, TINYRT_EXTREMES(vldrbq_s8(a), vldrbq_s8(b)));
            a += TINYRT_VECTOR;
            b += TINYRT_VECTOR;
        }
    }
    for (; count > 0; count -= TINYRT_VECTOR, y += TINYRT_VECTOR) {
        const mve_pred16_t lanes = vctp8q((uint32_t)count);
        const int8x16_t taken =
            TINYRT_EXTREMES(tinyrt_vector_of(a, a_step, lanes), tinyrt_vector_of(b, b_step, lanes));
        vstrbq_p_s8(y, taken, lanes);
        a += TINYRT_VECTOR * a_step;
        b += TINYRT_VECTOR * b_step;
    }
}

#endif
