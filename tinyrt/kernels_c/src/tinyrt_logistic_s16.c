#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_sigmoid_far.h"
#include "tinyrt_sigmoid_of.h"

void tinyrt_logistic_s16(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y) {
    for (int32_t i = 0; i < p->size; ++i) {
        y[i] = (int16_t)tinyrt_logistic_of(p->table, tinyrt_sigmoid_position(p, x[i]));
    }
}
