/** Taps of a column that are read more than once, or are sums. */
#ifndef TINYRT_REPEAT_TAP_H
#define TINYRT_REPEAT_TAP_H

#include <string.h>

#include "tinyrt_columns.h"
#include "tinyrt_more_taps.h"

/** Writes sums behind all taps of one of two columns. */
static TINYRT_NOINLINE void tinyrt_sum_taps(const tinyrt_more_taps *more,
                                            tinyrt_taps_word *column) {
    const tinyrt_taps_word *from = column;
    const int16_t *place = more->places;
    for (const int16_t *const end = place + (2 * more->count); place != end; place += 2) {
        const int32_t rest = place[0] & 3;
        tinyrt_taps_word sum = 0;
        for (const tinyrt_taps_word *const last = from + (2 * (place[0] - rest)); from != last;) {
            sum += from[0] + from[2] + from[4] + from[6];
            from += 8;
        }
        for (int32_t i = 0; i < (2 * rest); i += 2) {
            TINYRT_SHORT_LOOP;
            sum += from[i];
        }
        (void)memcpy((int8_t *)column + place[1], &sum, sizeof(sum));
    }
}

/** Writes the taps behind all others to one of two columns. */
static inline void tinyrt_repeat_taps(const tinyrt_more_taps *more, tinyrt_taps_word *column) {
    if (more->taps == NULL) {
        tinyrt_sum_taps(more, column);
        return;
    }
    const int16_t *place = more->places;
    for (const int16_t *const end = place + (2 * more->count); place != end; place += 2) {
        (void)memcpy((int8_t *)column + place[1], (const int8_t *)column + place[0],
                     sizeof(tinyrt_taps_word));
    }
}

#endif
