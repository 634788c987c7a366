/** Taps of some channels of a pixel, each of which has weights of its own. */
#ifndef TINYRT_CHANNEL_TAPS_H
#define TINYRT_CHANNEL_TAPS_H

#include "tinyrt_types.h"

/** How many there are, and how far apart in x and in w: from one to the next of a row, and from the
 *  end of a row's to the next row's first. */
typedef struct {
    int32_t rows;
    int32_t columns;
    int32_t x_tap;
    int32_t x_next;
    int32_t w_tap;
    int32_t w_next;
} tinyrt_channel_taps;

#endif
