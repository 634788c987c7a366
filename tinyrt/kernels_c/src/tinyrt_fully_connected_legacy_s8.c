#include "tinyrt_fully_connected_legacy.h"

#include "tinyrt_fixedpoint.h"

/** How many of the steps lie below acc. */
static int32_t steps_below(const int32_t *last, int32_t steps, int32_t acc) {
    int32_t first = 0;
    while (steps > 0) {
        const int32_t half = steps / 2;
        if (last[first + half] < acc) {
            first += half + 1;
            steps -= half + 1;
        } else {
            steps = half;
        }
    }
    return first;
}

void tinyrt_fully_connected_legacy_s8(const tinyrt_fully_connected_legacy_s8_params *p,
                                      const int8_t *x, const int8_t *w, const int32_t *bias,
                                      int8_t *TINYRT_RESTRICT y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        const int8_t *filter = w;
        for (int32_t oc = 0; oc < p->c_out; ++oc) {
            int32_t acc = bias[oc];
            for (int32_t i = 0; i < p->c_in; ++i) {
                acc = tinyrt_add_wrapping(acc, x[i] * filter[i]);
            }
            *y++ = (int8_t)(p->act_min + steps_below(p->last, p->steps, acc));
            filter += p->c_in;
        }
        x += p->c_in;
    }
}
