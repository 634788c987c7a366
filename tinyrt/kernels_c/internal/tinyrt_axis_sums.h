/** Sums of an axis of a window of motion. */
#ifndef TINYRT_AXIS_SUMS_H
#define TINYRT_AXIS_SUMS_H

#include "tinyrt_types.h"

/** What the numbers of an axis add up to, and the least and the greatest of them. */
typedef struct {
    int32_t sum;
    int32_t low;
    int32_t high;
    uint64_t squares;
} tinyrt_axis_sums;

#endif
