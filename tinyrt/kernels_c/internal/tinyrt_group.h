/** Features of a window that have one mean. */
#ifndef TINYRT_GROUP_H
#define TINYRT_GROUP_H

#include "tinyrt_types.h"

/** count features, step apart, each with the bits of flip changed. */
typedef struct {
    const uint16_t *x;
    int32_t count;
    int32_t step;
    uint16_t flip;
} tinyrt_group;

#endif
