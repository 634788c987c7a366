/** Activations of four pixels as three words of a tap, see tinyrt_dot_triples.h. */
#ifndef TINYRT_TRIPLE_H
#define TINYRT_TRIPLE_H

#include "tinyrt_types.h"

/** Words of a tap, and sums of two channels. */
enum { TINYRT_TRIPLE = 3, TINYRT_TRIPLE_SUMS = 6 };

/** How far the second to the fourth of four pixels lie behind the first one. */
typedef struct {
    int32_t second;
    int32_t third;
    int32_t fourth;
} tinyrt_offsets;

/** Of the first count pixels that lie so far apart; beyond, the last one again. */
static inline tinyrt_offsets tinyrt_offsets_of(int32_t step, int32_t count) {
    const tinyrt_offsets pixels = {((count > 1) ? 1 : 0) * step,
                                   ((count > 2) ? 2 : (count - 1)) * step,
                                   ((count > 3) ? 3 : (count - 1)) * step};
    return pixels;
}

#endif
