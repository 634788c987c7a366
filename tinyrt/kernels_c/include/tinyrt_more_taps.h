/** Taps of a column behind all others: those that are read more than once, or sums of the others.
 */
#ifndef TINYRT_MORE_TAPS_H
#define TINYRT_MORE_TAPS_H

#include <stdint.h>

/** count taps behind all others: which of these they read again; and for two columns, for each tap,
 *  how many bytes behind a column's begin it lies where it is read, and where it is written.
 *
 *  Without taps, each is a sum of others, one run of them behind the other. How many taps a run has
 *  stands in place of where one is read: for all but the last, a multiple of four. Sums fit into a
 *  column's elements. */
typedef struct {
    int32_t count;
    const int16_t *taps;
    const int16_t *places;
} tinyrt_more_taps;

#endif
