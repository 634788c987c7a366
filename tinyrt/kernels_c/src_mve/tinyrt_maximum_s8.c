#include "tinyrt_maximum.h"

#include "tinyrt_mve.h"
#include "tinyrt_rows_of_pairs.h"

/** A vector of neighbours, or of one element that repeats. */
static int8x16_t vector(const int8_t *x, int32_t step, mve_pred16_t lanes) {
    return step == 0 ? vdupq_n_s8(*x) : vldrbq_z_s8(x, lanes);
}

static TINYRT_NOINLINE void row(const void *params, const int8_t *a, int32_t a_step,
                                const int8_t *b, int32_t b_step, int32_t count, int8_t *y) {
    (void)params;
    if ((a_step | b_step) > 1) {
        for (; count > 0; --count, a += a_step, b += b_step) {
            *y++ = *a > *b ? *a : *b;
        }
        return;
    }
    for (; count > 0; count -= TINYRT_VECTOR, y += TINYRT_VECTOR) {
        const mve_pred16_t lanes = vctp8q((uint32_t)count);
        vstrbq_p_s8(y, vmaxq_s8(vector(a, a_step, lanes), vector(b, b_step, lanes)), lanes);
        a += TINYRT_VECTOR * a_step;
        b += TINYRT_VECTOR * b_step;
    }
}

void tinyrt_maximum_s8(const tinyrt_broadcast *shape, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_for_each_row(shape, row, NULL, a, b, y);
}
