/** Places of the largest elements, where this is included: TINYRT_ELEMENT is the elements' type,
 *  TINYRT_ABOVE whether the first of two comes before the second, whatever their places. */
#ifndef TINYRT_TOPK_LOOP_H
#define TINYRT_TOPK_LOOP_H

#include "tinyrt_topk_v2.h"

/** The places of one row: those found so far stay in order, so that few elements move any. */
static void tinyrt_topk_row(const TINYRT_ELEMENT *x, int32_t depth, int32_t k, int32_t *y) {
    for (int32_t i = 0; i < depth; ++i) {
        const TINYRT_ELEMENT element = x[i];
        int32_t at = (i < k) ? i : k;
        for (; (at > 0) && TINYRT_ABOVE(element, x[y[at - 1]]); --at) {
            if (at < k) {
                y[at] = y[at - 1];
            }
        }
        if (at < k) {
            y[at] = i;
        }
    }
}

/** y = the places of what p says. */
static void tinyrt_topk_rows(const tinyrt_topk_v2_params *p, const TINYRT_ELEMENT *x, int32_t *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        tinyrt_topk_row(x, p->depth, p->k, y);
        x += p->depth;
        y += p->k;
    }
}

#endif
