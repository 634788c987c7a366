/** Taps of a column that are read more than once. */
#ifndef TINYRT_REPEAT_TAP_H
#define TINYRT_REPEAT_TAP_H

#include <string.h>

#include "tinyrt_columns.h"
#include "tinyrt_more_taps.h"

/** Writes the taps behind all others to one of two columns. */
static inline void tinyrt_repeat_taps(const tinyrt_more_taps *more, tinyrt_taps_word *column) {
    const int16_t *place = more->places;
    for (const int16_t *const end = place + (2 * more->count); place != end; place += 2) {
        (void)memcpy((int8_t *)column + place[1], (const int8_t *)column + place[0],
                     sizeof(tinyrt_taps_word));
    }
}

#endif
