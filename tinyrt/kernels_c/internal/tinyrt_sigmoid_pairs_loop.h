/** A function of int16 values by the table, two at a time with DSP instructions, as the function
 *  TINYRT_KERNEL, where this is included: TINYRT_BY(table, numbers, position) is that of a
 * position, with TINYRT_NUMBERS. TINYRT_LOW and TINYRT_HIGH put its value into a half of a pair. */
#ifndef TINYRT_SIGMOID_PAIRS_LOOP_H
#define TINYRT_SIGMOID_PAIRS_LOOP_H

#include "tinyrt_sigmoid_of.h"
#include "tinyrt_sigmoid_s16.h"
#include "tinyrt_table_pairs.h"

void TINYRT_KERNEL(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y) {
    const int16_t *const table = p->table;
    const tinyrt_sigmoid_numbers n = TINYRT_NUMBERS();
    /* Products are twice as large as positions: of two roundings down, the second adds a half. */
    const int32_t factor = (int32_t)((uint32_t)p->mult << (17 - p->right));
    for (const int16_t *const end = x + (p->size & ~1); x != end; x += 2, y += 2) {
        uint32_t pair = tinyrt_load_word(x);
        const int32_t first = tinyrt_add_scaled_low(factor, pair, n.one) >> 1;
        pair = TINYRT_LOW(pair, TINYRT_BY(table, &n, first));
        const int32_t second = tinyrt_add_scaled_high(factor, pair, n.one) >> 1;
        tinyrt_store_word(y, TINYRT_HIGH(pair, TINYRT_BY(table, &n, second)));
    }
    if ((p->size & 1) != 0) {
        const int32_t last = tinyrt_add_scaled_low(factor, (uint32_t)*x, n.one) >> 1;
        *y = (int16_t)(uint16_t)TINYRT_LOW(0, TINYRT_BY(table, &n, last));
    }
}

#endif
