/** Taps of a column that are read more than once. */
#ifndef TINYRT_MORE_TAPS_H
#define TINYRT_MORE_TAPS_H

#include <stdint.h>

/** count taps behind all others: which of these they read again; and for two columns, for each tap,
 *  how many bytes behind a column's begin it lies where it is read, and where it is written. */
typedef struct {
    int32_t count;
    const int16_t *taps;
    const int16_t *places;
} tinyrt_more_taps;

#endif
