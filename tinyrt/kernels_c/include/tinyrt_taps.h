/** Which taps of a sliding window lie inside the input, found once per row and column. */
#ifndef TINYRT_TAPS_H
#define TINYRT_TAPS_H

#include "tinyrt_types.h"

/** A half-open range [begin, end). */
typedef struct {
    int32_t begin;
    int32_t end;
} tinyrt_range;

/** Taps k of kernel with 0 <= origin + k * dilation < size; an empty range has begin == end. */
static inline tinyrt_range tinyrt_taps_inside(int32_t origin, int32_t size, int32_t kernel,
                                              int32_t dilation) {
    tinyrt_range taps = {0, kernel};
    if (origin < 0) {
        taps.begin = (dilation - 1 - origin) / dilation;
    }
    if (origin + (kernel - 1) * dilation >= size) {
        taps.end = (origin < size) ? ((size - origin + dilation - 1) / dilation) : 0;
    }
    if (taps.begin > taps.end) {
        taps.begin = taps.end;
    }
    return taps;
}

#endif
