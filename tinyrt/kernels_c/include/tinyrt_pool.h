/** What the poolings share. */
#ifndef TINYRT_POOL_H
#define TINYRT_POOL_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_taps.h"

/** Requires: every window has a tap inside the input; dilation 1. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t act_min;
    int32_t act_max;
} tinyrt_pool2d_s8_params;

#endif
