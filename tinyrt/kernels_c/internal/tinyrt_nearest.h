/** Where indices that are computed point to. */
#ifndef TINYRT_NEAREST_H
#define TINYRT_NEAREST_H

#include "tinyrt_types.h"

/** The number itself, or the nearest one from 0 to below the size. */
static inline int32_t tinyrt_nearest(int32_t at, int32_t size) {
    const int32_t low = (at < 0) ? 0 : at;
    return (low < size) ? low : (size - 1);
}

/** The same, of a number that counts from the end where it is below 0. */
static inline int32_t tinyrt_nearest_from_end(int32_t at, int32_t size) {
    int32_t place = at;
    if (at < 0) {
        place += size;
    }
    return tinyrt_nearest(place, size);
}

#endif
