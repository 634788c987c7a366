/** A function of int16 values by the table, as the function TINYRT_KERNEL, where this is included:
 *  TINYRT_FUNCTION(table, position) is that of a position. */
#ifndef TINYRT_SIGMOID_LOOP_H
#define TINYRT_SIGMOID_LOOP_H

#include "tinyrt_sigmoid_s16.h"

void TINYRT_KERNEL(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y) {
    const int16_t *const table = p->table;
    const int32_t mult = p->mult;
    const int32_t right = p->right;
    const int32_t rounding = (int32_t)((UINT32_C(1) << right) >> 1);
    for (const int16_t *const end = x + p->size; x != end; ++x, ++y) {
        *y = (int16_t)TINYRT_FUNCTION(table, ((*x * mult) + rounding) >> right);
    }
}

#endif
