/** Taps of a column that are read more than once, or are sums. */
#ifndef TINYRT_REPEAT_TAP_H
#define TINYRT_REPEAT_TAP_H

#include <string.h>

#include "tinyrt_columns.h"
#include "tinyrt_more_taps.h"

/** The sum of one to three taps: the first and the third are halves of a word. */
static inline int32_t tinyrt_sum_of_few(const tinyrt_taps_word *column, int32_t taps) {
    int32_t sum = (int16_t)column[0];
    sum += (taps > 1) ? (int16_t)column[2] : 0;
    return sum + ((taps > 2) ? ((int32_t)column[0] >> 16) : 0);
}

/** Writes sums behind all taps of one of two columns. */
static TINYRT_NOINLINE void tinyrt_sum_taps(const tinyrt_more_taps *more,
                                            tinyrt_taps_word *column) {
    const uint32_t ones = 0x00010001U;
    const tinyrt_taps_word *from = column;
    const int16_t *place = more->places;
    for (const int16_t *const end = place + (2 * more->count); place != end; place += 2) {
        const int32_t rest = place[0] & 3;
        int32_t sum = 0;
        for (const tinyrt_taps_word *const last = from + (place[0] - rest); from != last;) {
            sum = tinyrt_dot_pair(from[0], ones, sum);
            sum = tinyrt_dot_pair(from[2], ones, sum);
            from += 4;
        }
        sum += (rest != 0) ? tinyrt_sum_of_few(from, rest) : 0;
        const int16_t narrow = (int16_t)sum;
        (void)memcpy((int8_t *)column + place[1], &narrow, sizeof(narrow));
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
        TINYRT_SHORT_LOOP;
        (void)memcpy((int8_t *)column + place[1], (const int8_t *)column + place[0], 2);
    }
}

#endif
