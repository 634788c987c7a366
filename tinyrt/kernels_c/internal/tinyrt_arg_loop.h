/** Places of extrema, where this is included: TINYRT_ELEMENT is the elements' type, TINYRT_BEST
 *  that of the best one so far, TINYRT_BETTER whether the first of two is the better one. */
#ifndef TINYRT_ARG_LOOP_H
#define TINYRT_ARG_LOOP_H

#include "tinyrt_arg.h"

/** The place of the best of depth elements, step apart, of which x is the first.
 *
 *  Most elements are no better than the best so far: they pass four at a time. */
static int32_t tinyrt_place_one_by_one(const TINYRT_ELEMENT *x, int32_t depth, int32_t step) {
    TINYRT_BEST best = *x;
    int32_t found = 0;
    int32_t left = depth - 1;
    x += step;
    while (left > 0) {
        while ((left >= 4) && !TINYRT_BETTER(x[0], best) && !TINYRT_BETTER(x[step], best) &&
               !TINYRT_BETTER(x[2 * step], best) && !TINYRT_BETTER(x[3 * step], best)) {
            x += 4 * step;
            left -= 4;
        }
        while ((left > 0) && !TINYRT_BETTER(*x, best)) {
            x += step;
            --left;
        }
        if (left > 0) {
            best = *x;
            found = depth - left;
            x += step;
            --left;
        }
    }
    return found;
}

/** y = the places of what p says, each found by place. */
#define tinyrt_each_place(place, p, x, y)                                                          \
    for (int32_t outer = 0; outer < (p)->outer; ++outer) {                                         \
        for (int32_t inner = 0; inner < (p)->inner; ++inner) {                                     \
            *(y)++ = place((x) + inner, (p)->depth, (p)->inner);                                   \
        }                                                                                          \
        (x) += (p)->depth * (p)->inner;                                                            \
    }

#endif
